"""Plots in text: marks that need no colour on axes that are linear or logarithmic.

Own code, because the plotting libraries for terminals keep one global figure, have no 1-2-5 ticks
on a log axis, and tell series apart by colour.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sojourn import units
from sojourn.report.draw.axes import time_axis

LEFT = 9  # columns for the labels of the upright axis
TAIL = 5  # columns on the right: the axis itself and half of the last label
TOWARDS = ":"  # the shaft of an arrow that goes up to its `^`
LETTERS = string.ascii_letters


def sign(nth: int) -> str:
    """The letter of one of many curves; all beyond the letters share one sign.

    >>> sign(0), sign(26), sign(99)
    ('a', 'A', '*')
    """
    return LETTERS[nth] if nth < len(LETTERS) else "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One mark: where, and the character that is drawn. Later marks cover earlier ones.

    Attributes:
        x: on the axis across; for a load its share of max RPS.
        y: on the axis upwards, ns for a time; infinite ones stand at the top edge.
        is_upwards: the value is at least `y`: drawn as an arrow from there to the top edge.
    """

    x: float
    y: float
    sign: str
    is_upwards: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """From one number to another, with labelled ticks."""

    lo: float
    hi: float
    ticks: tuple[tuple[float, str], ...]
    is_log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies, as a share of the axis; what lies beyond is put at the edge."""
        inside = min(max(value, self.lo), self.hi)
        if self.is_log:
            return math.log(inside / self.lo) / math.log(self.hi / self.lo)
        return (inside - self.lo) / (self.hi - self.lo)


@dataclass(frozen=True, slots=True)
class Rule:
    """A labelled line across the plot."""

    y: float
    label: str


def draw(
    marks: Sequence[Mark],
    *,
    bound_ns: float | None,
    bound: str,
    band: tuple[float, float] | None = None,
    width: int = 80,
    height: int = 16,
) -> list[str]:
    """Times against load, as lines of at most `width` columns.

    Args:
        marks: what to draw; `x` is a share of max RPS, `y` ns.
        bound_ns: where the bound's line goes, ns; None for none.
        bound: what is written on the line.
        band: loads between which the border lies, shown under the load axis.
        width: of the whole plot, columns.
        height: of the plot's inside, lines.
    """
    times = time_axis([*(mark.y for mark in marks), *([1.2 * bound_ns] if bound_ns else [])])
    top = max([1.0, *(mark.x for mark in marks)])
    lines = canvas(
        marks,
        x=share_axis(top),
        y=Axis(
            lo=times.lo,
            hi=times.hi,
            ticks=tuple((tick, units.show_ns(tick)) for tick in times.ticks),
            is_log=True,
        ),
        rules=[] if bound_ns is None else [Rule(bound_ns, bound)],
        width=width,
        height=height,
    )
    return [*lines, *([_band(band, top, width)] if band else [])]


def share_axis(top: float) -> Axis:
    """A share of max RPS, labelled every 20 %."""
    steps = range(0, math.floor(100 * top) + 1, 20)
    return Axis(lo=0.0, hi=top, ticks=tuple((step / 100, f"{step} %") for step in steps))


def canvas(
    marks: Sequence[Mark],
    *,
    x: Axis,
    y: Axis,
    rules: Sequence[Rule] = (),
    width: int = 80,
    height: int = 16,
) -> list[str]:
    """Marks on any two axes, as lines of at most `width` columns, the axis across included."""
    columns = width - LEFT - TAIL
    grid = [[" "] * (columns + 1) for _ in range(height + 1)]
    for rule in rules:
        line = f"-- {rule.label} ".ljust(columns + 1, "-")[: columns + 1]
        grid[_row(y, rule.y, height)] = list(line)
    for mark in marks:
        _put(grid, mark, round(columns * x.place(mark.x)), _row(y, mark.y, height))
    labels = {_row(y, tick, height): label for tick, label in y.ticks}
    lines = [
        f"{labels.get(row, ''):>{LEFT}} {'+' if row in labels else '|'}{''.join(cells)}".rstrip()
        for row, cells in enumerate(grid)
    ]
    return [*lines, *_foot(x, columns)]


def _row(axis: Axis, value: float, height: int) -> int:
    return round(height * (1 - axis.place(value)))


def _put(grid: list[list[str]], mark: Mark, column: int, row: int) -> None:
    if not (mark.is_upwards or math.isinf(mark.y)):
        grid[row][column] = mark.sign
        return
    for above in range(row):
        if grid[above][column] == " ":
            grid[above][column] = TOWARDS
    grid[0 if math.isinf(mark.y) else row][column] = "^"


def upwards(mark: Mark) -> Mark:
    """The same mark as a least value."""
    return replace(mark, sign="^", is_upwards=True)


def _foot(axis: Axis, columns: int) -> list[str]:
    """The axis across with its ticks and their labels, as far as they do not meet."""
    line, words = ["-"] * (columns + 1), [" "] * (columns + 6)
    free = 0
    for value, label in axis.ticks:
        at = round(columns * axis.place(value))
        start = max(0, at - len(label) // 2)
        line[at] = "+"
        if start < free or start + len(label) > len(words):
            continue
        words[start : start + len(label)] = label
        free = start + len(label) + 1
    pad = " " * (LEFT + 1)
    return [f"{pad}+{''.join(line)}", f"{pad} {''.join(words)}".rstrip()]


def _band(band: tuple[float, float], top: float, width: int) -> str:
    """The loads between which the border lies, to be read against the axis above."""
    columns = width - LEFT - TAIL
    lo, hi = (round(columns * min(max(end, 0.0), top) / top) for end in band)
    inside = "=" * max(0, hi - lo - 1)
    return f"{'fits':>{LEFT}}  {' ' * lo}[{inside}]"[:width]
