"""What is known of a quantile that has no number: it lies above the ones below it.

Quantiles do not fall with q, so the highest lower one that was measured bounds a refused or
infinite one from below. A picture says so with an arrow upwards, never with a mark.
"""

from __future__ import annotations

import math

from sojourn.findings.load_point import LoadPoint
from sojourn.report.draw.lookup import of_point
from sojourn.stats.interval import Estimate

RULE = (
    "An arrow upwards starts at the least that the number of a load can be. That is the lower end"
    " of its 95 % interval, or else that of the next lower quantile. Where the load misses its"
    " target it is at least the target."
)


def of_load(point: LoadPoint, q: float) -> float | None:
    """The least that quantile `q` of a load can be, ns; None if nothing is known.

    Its own interval's lower end where it has one, else that of the next lower quantile; and where
    all runs of the service say that the load misses its target, no less than the target.
    """
    if not point.is_believed:
        return None
    estimate = of_point(point, q)
    if estimate is not None and (own := _lower_end(estimate)) is not None:
        return own
    below = sorted((e for e in point.quantiles if e.q is not None and e.q < q), key=_q)
    ends = (_lower_end(e) for e in reversed(below))
    measured = next((end for end in ends if end is not None), None)
    if point.missed is None or q < point.missed[0]:
        return measured
    return max(measured or 0.0, point.missed[1])


def is_open(estimate: Estimate | None) -> bool:
    """Whether the number is missing or infinite, so that only a limit can be drawn."""
    return estimate is None or estimate.value is None or not math.isfinite(estimate.value)


def _lower_end(estimate: Estimate) -> float | None:
    for ns in (estimate.interval.lo if estimate.interval else None, estimate.value):
        if ns is not None and math.isfinite(ns):
            return ns
    return None


def _q(estimate: Estimate) -> float:
    return estimate.q or 0.0
