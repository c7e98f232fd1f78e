"""A small plot in text: load across, time upwards on a log scale, marks that need no colour.

Own code, because the plotting libraries for terminals keep one global figure, have no 1-2-5 ticks
on a log axis, and tell series apart by colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn import units
from sojourn.report.draw.axes import time_axis

LEFT = 9  # columns for the labels of the time axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One mark: where, and the character that is drawn. Later marks cover earlier ones.

    Attributes:
        fraction: share of max RPS.
        ns: time; infinite ones are drawn as `^` at the top edge.
    """

    fraction: float
    ns: float
    sign: str


def draw(
    marks: Sequence[Mark], *, bound_ns: float | None, bound: str, width: int = 80, height: int = 16
) -> list[str]:
    """The plot as lines of at most `width` columns.

    Args:
        marks: what to draw.
        bound_ns: where the bound's line goes, ns; None for none.
        bound: what is written on the line.
        width: of the whole plot, columns.
        height: of the plot's inside, lines.
    """
    axis = time_axis([*(mark.ns for mark in marks), *([1.2 * bound_ns] if bound_ns else [])])
    top = max(1.0, *(mark.fraction for mark in marks))
    columns = width - LEFT - 5  # one for the axis, four for half of the last label
    grid = [[" "] * (columns + 1) for _ in range(height + 1)]

    def row_of(ns: float) -> int:
        inside = min(max(ns, axis.lo), axis.hi)
        return round(height * math.log(axis.hi / inside) / math.log(axis.hi / axis.lo))

    if bound_ns is not None:
        line = f"-- {bound} ".ljust(columns + 1, "-")[: columns + 1]
        grid[row_of(bound_ns)] = list(line)
    for mark in marks:
        grid[row_of(mark.ns)][round(columns * mark.fraction / top)] = (
            mark.sign if math.isfinite(mark.ns) else "^"
        )
    labels = {row_of(tick): units.show_ns(tick) for tick in axis.ticks}
    lines = [
        f"{labels.get(row, ''):>{LEFT}} {'+' if row in labels else '|'}{''.join(cells)}".rstrip()
        for row, cells in enumerate(grid)
    ]
    return [*lines, *_foot(columns, top)]


def _foot(columns: int, top: float) -> list[str]:
    """The load axis: a tick and a label every 20 %."""
    line, words = ["-"] * (columns + 1), [" "] * (columns + 6)
    for percent in range(0, math.floor(100 * top) + 1, 20):
        at = round(columns * percent / 100 / top)
        line[at] = "+"
        label = f"{percent} %"
        start = max(0, at - len(label) // 2)
        words[start : start + len(label)] = label
    pad = " " * (LEFT + 1)
    return [f"{pad}+{''.join(line)}", f"{pad} {''.join(words)}".rstrip()]
