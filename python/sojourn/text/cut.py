"""Names in little room: those that would look alike stay different."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile

MORE = "…"


def cut(names: Sequence[str], most: int) -> list[str]:
    """The names in at most `most` characters each, at least two.

    A long name loses its end. Where two names would then look alike, they lose their middle, or
    their beginning up to the first character in which they differ.

    >>> cut(["nginx", "a long name"], 8)
    ['nginx', 'a long …']
    >>> cut(["some parameter 1 on", "some parameter 2 on"], 10)
    ['some …1 on', 'some …2 on']
    >>> cut(["the longer first is of a kind", "the longer other is of a kind"], 10)
    ['…first is…', '…other is…']
    """
    result = [_end(name, most) for name in names]
    for shorter in (_without_middle, _without_start):
        for alike in _alike(names, result):
            text_of = dict(zip(alike, shorter(alike, most), strict=True))
            result = [text_of.get(*each) for each in zip(names, result, strict=True)]
    return result


def middle(name: str, most: int) -> str:
    """A name in at most `most` characters, with both of its ends.

    >>> middle("a rather long name 3 on", 13), middle("nginx", 13)
    ('a rath…e 3 on', 'nginx')
    """
    tail = (most - 1) // 2
    if len(name) <= most:
        return name
    return f"{name[: most - 1 - tail]}{MORE}{name[len(name) - tail :]}"


def _alike(names: Sequence[str], shown: Sequence[str]) -> list[list[str]]:
    """Names that differ and look the same, in groups."""
    by_look: dict[str, list[str]] = defaultdict(list)
    for name, text in dict(zip(names, shown, strict=True)).items():
        by_look[text].append(name)
    return [group for group in by_look.values() if len(group) > 1]


def _end(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}{MORE}"


def _without_middle(names: Sequence[str], most: int) -> list[str]:
    return [middle(name, most) for name in names]


def _without_start(names: Sequence[str], most: int) -> list[str]:
    columns = zip(*names, strict=False)
    start = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, columns))
    return [f"{MORE}{_end(name[start:], most - 1)}" for name in names]
