"""A lab that kills itself: makes and unmakes something, and dies before the Nth step of it.

python killed.py WHAT STATE N

Ends with status 0 if it has fewer steps.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn import places
from sojourn.places import network
from sojourn.run.journal import Journal

NETWORK = ("make", "add_bridge", "add_pair", "join", "bring_up", "delete", "remove")
STEPS: list[tuple[Any, str]] = [
    *((network, name) for name in NETWORK),
    *((Journal, name) for name in ("note", "undone")),
]


def netns(journal: Journal) -> None:
    """Enter a place and leave it."""
    place = places.kind("netns").build()
    place.enter(journal)
    place.leave()


WHAT: dict[str, Callable[[Journal], None]] = {"netns": netns}


def main() -> None:
    what, state, last = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    seen = 0

    def mortal(step: Callable[..., Any]) -> Callable[..., Any]:
        def act(*args: Any, **named: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*args, **named)

        return act

    journal = Journal.create(state)
    for owner, name in STEPS:
        setattr(owner, name, mortal(getattr(owner, name)))
    WHAT[what](journal)
    journal.close()


if __name__ == "__main__":
    main()
