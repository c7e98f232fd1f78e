"""Max loads of records side by side: their ratio, open ends included.

Two closed intervals give that of their ratio: their ends carry over as variances do. Where an end
is open there is no estimate to divide. But the model says of each load how probable it is that it
meets the target, so it says how probable each ratio is. A border between two loads of the grid may
lie anywhere between them, one below the lowest anywhere down to 0, and one above the highest
anywhere. Each end of the interval takes what is worst for it.

Source: Zou and Donner, "Construction of confidence limits about effect measures: a general
approach", Statistics in Medicine 27 (2008), for closed intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from sojourn.analysis.comparison_rows import AT_LEAST, AT_MOST, NO_LOAD, Ratio, Row
from sojourn.analysis.equal_loads import EQUAL
from sojourn.findings.findings import Qos, ServiceFinding
from sojourn.findings.highest_load import Border, MaxLoad, is_closed
from sojourn.half_width import normal
from sojourn.stats.interval import Interval
from sojourn.stats.paired_ratio import Limits
from sojourn.stats.times import Floats
from sojourn.text.numbers import percentile
from sojourn.units import show_ns

MAX_LOAD = "max load"
OPEN = "the interval is open"
UNDECIDED = "no load was decided"
LACKING = "not measured in both"


def row(services: Sequence[ServiceFinding | None], limits: Limits) -> Row | None:
    """The highest loads of one service in all records; None where two do not have one.

    Args:
        services: of each record, the first of which the others are compared with.
        limits: what counts as a difference, and how sure a judgement is.
    """
    each = [most.border if s and (most := s.section(MaxLoad)) else None for s in services]
    first = each[0]
    if first is None or not any(each[1:]) or services[0] is None:
        return None
    others = [
        _beside(first, border, unlike_targets(services[0].qos, s.qos if s else None), limits)
        for s, border in zip(services[1:], each[1:], strict=True)
    ]
    sides = (_number(first), *others)
    return Row(service=services[0].service, load="", number=MAX_LOAD, is_rate=True, sides=sides)


def _beside(first: Border, other: Border | None, unlike: str, limits: Limits) -> Ratio:
    if other is None:
        return Ratio(value=None, note=LACKING)
    return replace(_number(other), note=unlike) if unlike else _of(first, other, limits)


def unlike_targets(first: Qos | None, other: Qos | None) -> str:
    """That two highest loads are of unlike targets; "" if they are not.

    A bound that follows from the service is measured, so it differs a little from run to run.
    """
    if first is None or other is None:
        return ""
    is_equal = first.q == other.q and abs(math.log(other.bound_ns / first.bound_ns)) <= EQUAL
    if is_equal:
        return ""
    texts = (f"{percentile(one.q)} ≤ {show_ns(one.bound_ns)}" for one in (first, other))
    return f"the targets differ: {' and '.join(texts)}"


def _number(border: Border) -> Ratio:
    """How much load fits; of an open interval its known end, and no ratio."""
    ends, starts = border.interval_rps, border.starts
    if is_closed(border):
        return Ratio(value=border.estimate_rps, restarts=starts)
    if ends.hi <= 0:
        return Ratio(value=0.0, restarts=starts, bound=NO_LOAD)
    if ends.lo > 0:
        return Ratio(value=ends.lo, restarts=starts, bound=AT_LEAST)
    if math.isfinite(ends.hi):
        return Ratio(value=ends.hi, restarts=starts, bound=AT_MOST)
    return Ratio(value=None, restarts=starts, note=UNDECIDED)


def _of(first: Border, other: Border, limits: Limits) -> Ratio:
    side = _number(other)
    if is_closed(first) and is_closed(other):
        return _of_closed(side, first, other, limits)
    if not first.curve or not other.curve:
        return replace(side, note=side.note or OPEN)
    ends, p = ratio_of_curves(first.curve, other.curve, limits.alpha)
    return replace(side, interval=ends, p=p, judgement=limits.first_word(ends))


def _of_closed(side: Ratio, first: Border, other: Border, limits: Limits) -> Ratio:
    ratio = other.estimate_rps / first.estimate_rps
    of_a, of_b = first.interval_rps, other.interval_rps
    down = math.hypot(
        math.log(other.estimate_rps / of_b.lo), math.log(of_a.hi / first.estimate_rps)
    )
    up = math.hypot(math.log(of_b.hi / other.estimate_rps), math.log(first.estimate_rps / of_a.lo))
    errors = normal(other.level)  # that the intervals are wide
    wider, middle = normal(1 - limits.alpha) / errors, math.log(ratio)
    towards_1 = down if middle > 0 else up
    ends = Interval(lo=math.exp(middle - down * wider), hi=math.exp(middle + up * wider))
    return replace(
        side,
        ratio=ratio,
        interval=ends,
        p=float(2 * scipy.special.ndtr(-(abs(middle) / towards_1 * errors))) if towards_1 else 1.0,
        judgement=limits.first_word(ends),
    )


def ratio_of_curves(
    first: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]], alpha: float
) -> tuple[Interval, float]:
    """The second border over the first: an interval of level 1 - alpha, and p of a ratio of 1.

    Args:
        first: (requests/s, probability that this load meets the target), ascending.
        other: the same of the other record.
        alpha: 1 less the coverage; half of it on either side.

    >>> low, high = ((10.0, 1.0), (20.0, 0.0)), ((40.0, 1.0), (50.0, 0.0))
    >>> ratio_of_curves(low, high, 0.01)
    (Interval(lo=2.0, hi=5.0), 0.0)
    >>> ratio_of_curves(low, ((40.0, 1.0), (50.0, 0.9)), 0.01)[0]
    Interval(lo=2.0, hi=inf)
    """
    (lo_a, hi_a, of_a), (lo_b, hi_b, of_b) = _cells(first), _cells(other)
    weights = np.multiply.outer(of_b, of_a).ravel()
    with np.errstate(divide="ignore"):
        least = np.divide.outer(lo_b, hi_a).ravel()
        most = np.divide.outer(hi_b, lo_a).ravel()
    below, above = weights[least <= 1].sum(), weights[most >= 1].sum()
    ends = Interval(lo=_lower(least, weights, alpha / 2), hi=-_lower(-most, weights, alpha / 2))
    return ends, float(min(1.0, 2 * min(below, above)))


def _cells(curve: Sequence[tuple[float, float]]) -> tuple[Floats, Floats, Floats]:
    """Lower and upper ends of where the border may lie, and how probable each place is."""
    rps, holds = np.array(curve, float).T
    fails = np.concatenate([[0.0], 1 - holds, [1.0]])
    weights = np.maximum(0.0, np.diff(fails))
    return np.concatenate([[0.0], rps]), np.concatenate([rps, [math.inf]]), weights


def _lower(values: Floats, weights: Floats, tail: float) -> float:
    """The highest value below which no more than `tail` of the probability lies."""
    order = np.argsort(values)
    at = np.searchsorted(np.cumsum(weights[order]), tail, side="right")
    return float(values[order][min(int(at), len(order) - 1)])
