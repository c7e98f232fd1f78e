"""Which of many runs are drawn: a picture of thousands cannot be read, nor opened.

What stands out is never left out: of each group the greatest by every measure that is asked for is
drawn, and of the others as many as there is room for, evenly in their order. Tables have all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

DOTS_MAX = 1_000  # runs in one picture, what stands out aside

R = TypeVar("R")
Measure = Callable[[R], float | None]


def thinned(
    rows: Sequence[R],
    *,
    most: int = DOTS_MAX,
    group: Callable[[R], Hashable],
    extremes: Sequence[Measure[R]] = (),
) -> list[R]:
    """All rows if they are few, else those that stand out and evenly some others, in order.

    Args:
        rows: one per run.
        most: how many are drawn without being extreme, about.
        group: what distinguishes runs that are to be compared, such as their load.
        extremes: of each the greatest in every group is stored; None is not a number.

    >>> thinned([3, 1, 9, 2, 2, 2, 0, 2], most=2, group=lambda _: 0, extremes=[abs])
    [3, 9, 2]
    """
    if len(rows) <= most:
        return list(rows)
    groups: dict[Hashable, list[int]] = {}
    for at, row in enumerate(rows):
        groups.setdefault(group(row), []).append(at)
    step = math.ceil(len(rows) / most)
    selected = {at for same in groups.values() for at in same[::step]}
    selected |= {
        max(same, key=lambda at: _rank(measure(rows[at])))
        for same in groups.values()
        for measure in extremes
    }
    return [rows[at] for at in sorted(selected)]


def rounded(value: float) -> float:
    """A place in a picture to six digits, a thousandth of a pixel: more only make a page larger.

    >>> rounded(46495.123456), rounded(1 / 3)
    (46495.1, 0.333333)
    """
    return float(f"{value:.6g}")


def caption_sentence(drawn: int, of: int) -> str:
    """A sentence for the caption; "" where all are drawn.

    >>> caption_sentence(7, 7), caption_sentence(900, 3320)
    ('', ' 900 of 3,320 runs are drawn, at each load the extreme ones among them; the CSV has all.')
    """
    if drawn >= of:
        return ""
    which = "at each load the extreme ones among them"
    return f" {drawn:,} of {of:,} runs are drawn, {which}; the CSV has all."


def _rank(value: float | None) -> float:
    return -math.inf if value is None else value
