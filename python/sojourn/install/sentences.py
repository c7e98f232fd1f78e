"""Plain English sentences, drawn from a seed: the same on every machine."""

from __future__ import annotations

import random
from collections.abc import Sequence

# fmt: off
WHO = (
    "the old man", "my sister", "a young doctor", "the teacher", "our neighbour", "the captain",
    "her brother", "the farmer", "a tall woman", "the students", "his father", "the little girl",
)
# fmt: on
# fmt: off
DID = (
    "opened", "carried", "found", "bought", "painted", "cleaned", "forgot", "moved", "sold",
    "wanted", "watched", "received",
)
# fmt: on
# fmt: off
WHAT = (
    "the red box", "a green bottle", "the heavy table", "two letters", "a new house", "the window",
    "some fresh bread", "the white horse", "an old book", "seven apples", "the small garden",
    "a long story",
)
# fmt: on
WHERE = (
    "near the river",
    "in the kitchen",
    "behind the church",
    "at the station",
    "in the city",
    "under the bridge",
    "in the mountains",
    "on the street",
)
WHEN = (
    "in the morning",
    "after dinner",
    "before the war",
    "last week",
    "every winter",
    "at night",
    "on Monday",
    "many years ago",
)


SHORT = (WHO, DID, WHAT)
WHOLE = (*SHORT, WHERE, WHEN)


def plain(count: int, seed: int, parts: Sequence[Sequence[str]] = WHOLE) -> tuple[str, ...]:
    """So many different sentences without a full stop: some sixty characters, of `SHORT` thirty.

    >>> plain(1, 1)
    ('a young doctor wanted a green bottle in the city after dinner',)
    >>> plain(1, 1, SHORT)
    ('a young doctor wanted a green bottle',)
    """
    drawn = random.Random(seed)  # noqa: S311  # not a secret
    made: dict[str, None] = {}
    while len(made) < count:
        made[" ".join(map(drawn.choice, parts))] = None
    return tuple(made)
