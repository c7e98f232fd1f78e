"""A service beside a neighbour against itself alone: differences, and where its tail breaks.

At one load the two have an interval each: across restarts where there are three or more, else of
the requests of all runs. Intervals of difference and ratio carry the two over as variances do, each
side by itself (Zou and Donner 2008). The tail is as alone while the ratio's interval lies below
`DEPARTS`, and has departed where it lies above; so the load at which it breaks lies between the
highest of a row of loads that are as alone, from the lowest on, and the lowest that has departed.
A load that the intervals do not decide makes that wider, not wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sojourn.findings.load_point import LoadPoint
from sojourn.half_width import student
from sojourn.stats.interval import Estimate, Interval
from sojourn.stats.method import Method

METHOD = Method(
    name="beside",
    about="what a neighbour costs at equal load, and the load at which the tail departs",
    ids=("L17", "L18", "M15", "M22"),
    source="Zou and Donner, Statistics in Medicine 27 (2008); the factor of 2 is of replicate L18",
)

DEPARTS = 2.0  # times the tail alone: "as if there were no interference" ends there
State = Literal["alone", "departed", "open"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number with its interval; None where it is not known."""

    value: float
    interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One load under one setting, beside a neighbour and alone.

    Attributes:
        load: share of max RPS of the service alone; rps: the same, requests/s.
        alone_ns, beside_ns: the tail, ns; `inf`: as many requests were lost, or it is more load
            than is served. None: not measured.
        ratio: of the tails.
        mean_ns: difference of the means, ns a request.
        tail_ns: difference of the tails, ns.
        kept: of what the neighbour does alone, over blocks; None: it reported no progress.
        state: whether the tail is as alone.
    """

    load: float
    rps: float
    alone_ns: float | None
    beside_ns: float | None
    ratio: Number | None
    mean_ns: Number | None
    tail_ns: Number | None
    kept: Number | None
    state: State


@dataclass(frozen=True, slots=True)
class Break:
    """Where the tail departs: above `lo`, at `hi` at the latest, as shares of max RPS.

    Attributes:
        lo: 0: the lowest load is not known to be as alone.
        hi: infinite: it was nowhere seen to depart.
        most: the highest load that could be compared; 0: none.
    """

    lo: float
    hi: float
    most: float

    def is_before(self, other: Break) -> bool:
        """Whether it surely breaks at a lower load than the other."""
        return self.hi <= other.lo


def row(alone: LoadPoint, beside: LoadPoint, q: float, values: Sequence[float]) -> Row:
    """Compare two points at one load.

    Args:
        alone: with no one else.
        beside: the same load beside a neighbour.
        q: the tail.
        values: what the neighbour did by block, of what it does alone.
    """
    both = [_tail(point, q) for point in (alone, beside)]
    means = [number(point.mean) for point in (alone, beside)]
    ratio = quotient(both[1], both[0]) if both[0] and both[1] else None
    return Row(
        load=alone.fraction,
        rps=alone.offered_rps,
        alone_ns=both[0].value if both[0] else None,
        beside_ns=both[1].value if both[1] else None,
        ratio=ratio,
        mean_ns=difference(means[1], means[0]) if means[0] and means[1] else None,
        tail_ns=difference(both[1], both[0]) if both[0] and both[1] else None,
        kept=over_blocks(values),
        state=state(ratio),
    )


def _tail(point: LoadPoint, q: float) -> Number | None:
    if point.is_overloaded:  # it grows as long as the load lasts
        return Number(math.inf)
    return number(next((result for result in point.quantiles if result.q == q), None))


def number(estimate: Estimate | None) -> Number | None:
    """An estimate as a number: across restarts where that is known."""
    if estimate is None or estimate.value is None or estimate.value <= 0:
        return None
    return Number(estimate.value, estimate.across_restarts or estimate.interval)


def difference(one: Number, other: Number) -> Number | None:
    """One less the other; None where both are infinite."""
    if math.isinf(one.value) or math.isinf(other.value):
        return None
    value = one.value - other.value
    a, b = one.interval, other.interval
    if a is None or b is None:
        return Number(value)
    down = math.hypot(one.value - a.lo, b.hi - other.value)
    up = math.hypot(a.hi - one.value, other.value - b.lo)
    return Number(value, Interval(lo=value - down, hi=value + up))


def quotient(one: Number, other: Number) -> Number | None:
    """One over the other, by their logarithms; None where the other is infinite.

    >>> a, b = Number(4.0, Interval(3.0, 5.0)), Number(2.0, Interval(2.0, 2.0))
    >>> quotient(a, b)
    Number(value=2.0, interval=Interval(lo=1.5, hi=2.5))
    """
    if math.isinf(other.value):
        return None
    a, b = one.interval, other.interval
    if math.isinf(one.value):
        return Number(math.inf, Interval(a.lo / b.hi if a and b else math.inf, math.inf))
    value = one.value / other.value
    if a is None or b is None or min(a.lo, b.lo) <= 0:
        return Number(value)
    down = math.hypot(math.log(one.value / a.lo), math.log(b.hi / other.value))
    up = math.hypot(math.log(a.hi / one.value), math.log(other.value / b.lo))
    lo, hi = (float(round(value * math.exp(by), 12)) for by in (-down, up))
    return Number(value, Interval(lo, hi))


def state(ratio: Number | None) -> State:
    """Whether a tail is as alone, by the interval of its ratio to that."""
    ends = ratio.interval if ratio else None
    if ends is None:
        return "open"
    if ends.lo > DEPARTS:
        return "departed"
    return "alone" if ends.hi < DEPARTS else "open"


def over_blocks(values: Sequence[float]) -> Number | None:
    """A mean over blocks with Student's interval; of one block without."""
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Number(mean)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
    half = student(len(values) - 1) * deviation
    half /= math.sqrt(len(values))
    return Number(mean, Interval(mean - half, mean + half))


def breaks(rows: Sequence[Row]) -> Break:
    """Where the tail breaks.

    Args:
        rows: of one setting, by rising load.

    >>> def of(load, state):
    ...     return Row(load=load, rps=0, alone_ns=1, beside_ns=1, ratio=1, mean_ns=None,
    ...                tail_ns=None, kept=None, state=state)
    >>> breaks([of(0.1, "alone"), of(0.3, "open"), of(0.6, "departed")])
    Break(lo=0.1, hi=0.6, most=0.6)
    """
    known = [one for one in rows if one.ratio is not None]
    hi = next((one.load for one in known if one.state == "departed"), math.inf)
    lo = 0.0
    for one in rows:  # one that could not be compared is open, and ends the row
        if one.state != "alone" or one.load >= hi:
            break
        lo = one.load
    return Break(lo=lo, hi=hi, most=known[-1].load if known else 0.0)
