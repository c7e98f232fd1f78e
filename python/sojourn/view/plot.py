"""Curves as pictures: where lines and dots lie, in thousandths of its sides.

The template stretches the picture to its place and draws lines and dots in pixels, so that text and
dots are as large on a phone as on a wide screen. Axes have their ticks at even distances, because
their labels are not in the picture: a whole number of decades, and a round number of equal steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sojourn.browse.curves import Curve, cell, is_carried, number
from sojourn.browse.narrowing import Step
from sojourn.plan.points import Outcome
from sojourn.units import show_count, show_ns

SIDE = 1000
SERIES_MOST = 8
DOTS_MOST = 1500  # of a picture that is drawn anew after each point
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TICKS = 4
Y = "p99_ns"


@dataclass(frozen=True, slots=True)
class Dot:
    """One run: where, what it says, whether it counts, and which page shows it."""

    x: int
    y: int
    words: str
    is_believed: bool
    link: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """One curve: its name, a number for its colour, its lines and its dots."""

    name: str
    number: int
    lines: tuple[str, ...]
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture of curves.

    Attributes:
        title: what it shows, for readers who do not see it.
        xs, ys: labels of ticks at even distances, from the origin on.
        series: at most `SERIES_MOST`.
        left_out: names of the others.
        is_thin: there are too many runs to draw; a dot is the first one that counts of its load.
    """

    title: str
    xs: tuple[str, ...]
    ys: tuple[str, ...]
    series: tuple[Series, ...]
    left_out: tuple[str, ...] = ()
    is_thin: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A curve with its name, and where a run of it is shown ("" where nowhere)."""

    name: str
    curve: Curve
    link: str = ""


def plot(title: str, lines: Sequence[Line]) -> Plot | None:
    """Curves on one scale: requests/s across, p99 upwards; None if no run has a p99."""
    shown = lines[:SERIES_MOST]
    runs = [run for line in shown for load in line.curve.loads for run in load.runs]
    values = [ns for run in runs if (ns := number(run, Y)) is not None and ns > 0]
    if not values:
        return None
    top, steps = _round_top(max(load.rps for line in shown for load in line.curve.loads))
    low, high = _decades(values)
    return Plot(
        title=title,
        xs=tuple(show_count(top * at / steps) if at else "0" for at in range(steps + 1)),
        ys=tuple(show_ns(10.0**power) for power in range(low, high + 1)),
        series=tuple(
            _series(line, at, top, (low, high), has_dots=len(runs) <= DOTS_MOST)
            for at, line in enumerate(shown)
        ),
        is_thin=len(runs) > DOTS_MOST,
        left_out=tuple(line.name for line in lines[SERIES_MOST:]),
    )


def _series(
    line: Line, number_of: int, top: float, decades: tuple[int, int], *, has_dots: bool
) -> Series:
    pieces: list[list[str]] = [[]]
    dots = []
    for load in line.curve.loads:
        x = round(SIDE * load.rps / top)
        middle = load.middle(Y)
        if middle is not None and 0 < middle < math.inf and load.carries(Y):
            pieces[-1].append(f"{x},{_y(middle, decades)}")
        elif pieces[-1]:  # the line ends where no number is known, as in the report
            pieces.append([])
        for run in load.runs if has_dots else load.believed[:1]:
            if (ns := number(run, Y)) is None or ns <= 0:
                continue
            why = _why(run)
            dots.append(
                Dot(
                    x,
                    _y(ns, decades),
                    f"{line.name}: p99 {cell(run, Y)} at {show_count(load.rps)}/s{why}",
                    not why,
                    f"{line.link}&rps={load.rps!r}" if line.link else "",
                )
            )
    lines = tuple(" ".join(piece) for piece in pieces if piece)
    return Series(line.name, number_of, lines, tuple(dots))


def _why(run: Outcome) -> str:
    """Why the p99 of a run is no number; "" if it is one."""
    if not run.is_believed:
        return f", does not count: {(*run.reasons, 'not steady')[0]}"
    return "" if is_carried([run], Y) else f", too few requests: {run.requests:,}"


def _y(ns: float, decades: tuple[int, int]) -> int:
    low, high = decades
    return round(SIDE * (1 - (math.log10(ns) - low) / (high - low)))


def _decades(values: Iterable[float]) -> tuple[int, int]:
    powers = [math.log10(value) for value in values]
    low = math.floor(min(powers))
    return low, max(math.ceil(max(powers)), low + 1)


def _round_top(most: float) -> tuple[float, int]:
    """A round end of an axis, and its number of equal steps.

    >>> _round_top(87_000.0), _round_top(100.0)
    ((100000.0, 4), (100.0, 4))
    """
    base = 10.0 ** math.floor(math.log10(most / TICKS))
    step = next(base * factor for factor in STEPS if base * factor * TICKS >= most * (1 - 1e-9))
    return step * TICKS, TICKS


@dataclass(frozen=True, slots=True)
class Bar:
    """The interval after some runs, as shares of an axis of requests/s."""

    x: int
    width: int
    middle: int
    words: str


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A search: its bars, oldest first, and the labels of its axis."""

    name: str
    bars: tuple[Bar, ...]
    xs: tuple[str, ...]
    words: str


def narrowing(name: str, steps: Sequence[Step]) -> Narrowing:
    """Bars of a search; an open end reaches the end of the axis."""
    finite = [end for one in steps for end in (one.lo, one.hi, one.middle or 0) if end < math.inf]
    top, count = _round_top(max(*finite, 1.0))
    bars = tuple(
        Bar(
            x=round(SIDE * one.lo / top),
            width=max(2, round(SIDE * (min(one.hi, top) - one.lo) / top)),
            middle=round(SIDE * min(one.middle or one.lo, top) / top),
            words=f"after {one.runs} starts: {interval(one)}",
        )
        for one in steps
    )
    xs = tuple(show_count(top * at / count) if at else "0" for at in range(count + 1))
    return Narrowing(name, bars, xs, interval(steps[-1]))


def interval(step: Step) -> str:
    """The highest load so far, in words."""
    if step.lo <= 0:
        return f"at most {show_count(step.hi, 1)}/s"
    if math.isinf(step.hi):
        return f"at least {show_count(step.lo, -1)}/s"
    between = f"{show_count(step.lo)}–{show_count(step.hi)}"
    return f"{show_count(step.middle)}/s ({between})" if step.middle else f"{between}/s"
