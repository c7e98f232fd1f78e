"""The curves of one experiment in text, a plot per group, for the terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence

from sojourn import units
from sojourn.models.replicate.kind import Curve, Mark, Replica
from sojourn.report import plot
from sojourn.report.draw.axes import time_axis

SIGNS = "ox*+#@%&=$"
NS_PER_US = 1e3
BREAK = "|"  # the upright line where the paper sees something
TICKS = 5


def lines(replica: Replica, width: int = 80, height: int = 16) -> Iterator[str]:
    """Every group of curves as a plot with its legend; nothing where there are no curves."""
    groups = list(dict.fromkeys(curve.group for curve in replica.curves if curve.group)) or [""]
    for group in groups if replica.curves else ():
        curves = [curve for curve in replica.curves if curve.group in {"", group}]
        marks = [mark for mark in replica.marks if mark.group in {"", group}]
        yield ""
        yield from _group(group or replica.title, curves, marks, width, height)


def _group(
    name: str, curves: Sequence[Curve], marks: Sequence[Mark], width: int, height: int
) -> Iterator[str]:
    first = curves[0]
    is_time = "µs" in first.y_label
    scale = NS_PER_US if is_time else 1.0
    y = _times(curves) if is_time else _numbers(curves)
    x = _across(curves)
    yield from textwrap.wrap(f"{name}: {first.y_label} by {first.x_label}", width)
    drawn = [_upright(mark, y, height) for mark in marks if x.lo <= mark.x <= x.hi]
    signs = [SIGNS[i % len(SIGNS)] for i in range(len(curves))]
    points = [
        plot.Mark(x=at, y=math.inf if value is None else value * scale, sign=sign)
        for curve, sign in zip(curves, signs, strict=True)
        for at, value in zip(curve.x, curve.y, strict=True)
    ]
    both = [*(mark for column in drawn for mark in column), *points]
    yield from plot.canvas(both, x=x, y=y, width=width, height=height)
    for curve, sign in zip(curves, signs, strict=True):
        yield f"  {sign} {curve.name}{' (paper)' if curve.is_paper else ''}"[:width]
    if len(curves) > 1:
        yield "  where marks overlap, the later one is shown"
    for mark in marks:
        where = f"{mark.x:.0%}".replace("%", " %") if x.hi <= 1 else f"{mark.x:g}"
        yield f"  {BREAK} {where}, paper: {mark.text}"[:width]
    if any(value is None for curve in curves for value in curve.y):
        yield "  ^ more requests than the quantile leaves out never ended"


def _upright(mark: Mark, y: plot.Axis, height: int) -> list[plot.Mark]:
    """A line from bottom to top."""
    steps = [i / height for i in range(height + 1)]
    if y.is_log:
        values = [y.lo * (y.hi / y.lo) ** step for step in steps]
    else:
        values = [y.lo + (y.hi - y.lo) * step for step in steps]
    return [plot.Mark(x=mark.x, y=value, sign=BREAK) for value in values]


def _across(curves: Sequence[Curve]) -> plot.Axis:
    largest = max(max(curve.x) for curve in curves)
    if largest <= 1:
        return plot.share_axis(1.0)
    step = _step(largest / TICKS)
    ticks = [i * step for i in range(math.floor(largest / step) + 1)]
    return plot.Axis(lo=0.0, hi=largest, ticks=tuple((tick, f"{tick:g}") for tick in ticks))


def _times(curves: Sequence[Curve]) -> plot.Axis:
    axis = time_axis([y * NS_PER_US for curve in curves for y in curve.y if y is not None])
    ticks = tuple((tick, units.show_ns(tick)) for tick in axis.ticks)
    return plot.Axis(lo=axis.lo, hi=axis.hi, ticks=ticks, is_log=True)


def _numbers(curves: Sequence[Curve]) -> plot.Axis:
    """From nothing, or from the lowest below it, to the highest, in 1-2-5 steps."""
    values = [y for curve in curves for y in curve.y if y is not None] or [1.0]
    low, high = min(0.0, *values), max(0.0, *values)
    step = _step((high - low or 1.0) / TICKS)
    first, last = math.floor(low / step), math.ceil(high / step)
    ticks = tuple((i * step, f"{i * step:g}") for i in range(first, max(last, first + 1) + 1))
    return plot.Axis(lo=ticks[0][0], hi=ticks[-1][0], ticks=ticks)


def _step(least: float) -> float:
    """The next of 1, 2 or 5 times a power of ten.

    >>> _step(0.3), _step(7.0)
    (0.5, 10.0)
    """
    base = 10.0 ** math.floor(math.log10(least))
    return float(next(m * base for m in (1.0, 2.0, 5.0, 10.0) if m * base >= least * (1 - 1e-9)))
