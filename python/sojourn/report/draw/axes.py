"""Axes that several figures share: time on a log scale with 1-2-5 ticks, and load in percent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from sojourn.report.draw.charts import alt

# Vega's expression for "1.31 ms": ticks are 1, 2 or 5 times a power of ten, so no rounding shows.
TIME_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~r') + ' s'"
    " : datum.value >= 1e6 ? format(datum.value / 1e6, '~r') + ' ms'"
    " : datum.value >= 1e3 ? format(datum.value / 1e3, '~r') + ' µs'"
    " : format(datum.value, '~r') + ' ns'"
)

LEAST_NS = 1.0  # a file may hold the smallest number that there is, of which no axis can be made
EDGE = 1.5  # how far an edge lies from the next number, as a ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """A log axis of times: its ends and ticks, ns."""

    lo: float
    hi: float
    ticks: tuple[float, ...]

    def place(self, ns: float | None) -> float | None:
        """Where a value is drawn: infinite ones at the top edge, missing ones nowhere."""
        if ns is None:
            return None
        return min(max(ns, self.lo), self.hi)

    def y(self, field: str, title: str | None) -> alt.Y:
        """The axis as Altair wants it."""
        return alt.Y(
            f"{field}:Q",
            title=title,
            scale=alt.Scale(type="log", domain=[self.lo, self.hi], nice=False),
            axis=alt.Axis(values=list(self.ticks), labelExpr=TIME_LABEL, labelOverlap="greedy"),
        )


def time_axis(values: Iterable[float | None], *, dots: Iterable[float | None] = ()) -> TimeAxis:
    """An axis that holds all finite values from 1 ns on, rounded outwards to 1-2-5 steps.

    Args:
        values: what must have its place.
        dots: the same, but where one is infinite the edge is moved away from the others, so that
            what is put there cannot be taken for a measured time.

    >>> axis = time_axis([130e3, 870e3, None, math.inf])
    >>> axis.lo, axis.hi, axis.ticks
    (100000.0, 1000000.0, (100000.0, 200000.0, 500000.0, 1000000.0))
    """
    marks = list(dots)
    every = [ns for ns in (*values, *marks) if ns is not None]
    finite = [ns for ns in every if LEAST_NS <= ns < math.inf]
    low, high = (min(finite), max(finite)) if finite else (1e3, 1e6)
    high *= EDGE if math.inf in marks else 1
    lo = max(step for step in _steps(low / 10, low) if step <= low)
    hi = min(step for step in _steps(high, high * 10) if step >= high)
    if lo == hi:
        lo, hi = lo / 2, hi * 2
    decades = math.log10(hi / lo)
    steps = [s for s in _steps(lo, hi) if decades <= 3 or _is_decade(s)]
    return TimeAxis(lo=lo, hi=hi, ticks=tuple(steps))


def _steps(low: float, high: float) -> list[float]:
    """1-2-5 steps from just below `low` to just above `high`."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = [m * 10.0**e for e in range(first, last + 1) for m in (1.0, 2.0, 5.0)]
    slack = 1e-9
    return [step for step in steps if low * (1 - slack) <= step <= high * (1 + slack)]


def _is_decade(step: float) -> bool:
    exponent = math.log10(step)
    return abs(exponent - round(exponent)) < 1e-9


# Counts as 0, 20k, 1.5M; Vega's own ticks would write 0k.
COUNT_LABEL = "format(datum.value, '~s')"


def load_x(*, title: list[str], highest: float) -> alt.X:
    """Offered load as a share of max RPS, from nothing to the highest measured."""
    top = max(1.0, highest) * 1.02
    return alt.X(
        "fraction:Q",
        title=title,
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(
            values=[i / 10 for i in range(math.floor(10 * top) + 1)],
            format="~%",
            labelOverlap="parity",
            labelSeparation=8,
        ),
    )
