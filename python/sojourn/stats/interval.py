"""A number with what is known about it: its interval, and what it rests on.

Every interval of the lab covers the true value with the same probability (`half_width.COVERAGE`),
unless its text says otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_LOG_MAX = 300.0  # of an end: a ratio of two such ends is a number, too


@dataclass(frozen=True, slots=True)
class Interval:
    """Lower and upper end of a confidence interval, in the unit of the number it is about."""

    lo: float
    hi: float


def raised(log: float) -> float:
    """The number with this logarithm, or the largest or smallest that an end may be.

    Few blocks that differ by a great deal give such ends. Readers divide by them.

    >>> raised(0.0), raised(1e4) < math.inf, raised(-1e4) > 0
    (1.0, True, True)
    """
    return math.exp(min(_LOG_MAX, max(-_LOG_MAX, log)))


def around(log: float, half: float) -> Interval:
    """The interval of a ratio whose logarithm has this half width.

    >>> around(0.0, math.log(2.0))
    Interval(lo=0.5, hi=2.0)
    """
    return Interval(lo=raised(log - half), hi=raised(log + half))


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One number with what is known about it.

    Attributes:
        q: quantile in (0, 1); None for the mean.
        value: ns; None if refused.
        interval: within one run (M10, corrected by M9); None if refused. An upper end of `inf`:
            lost requests decide it, or requests depend on each other too much to bound it.
        across_restarts: interval of the mean over restarts (M15); None with fewer than 3.
        requests, effective: n and n_eff.
        refused: why there is no number; "" if there is one.
        lateness_ns: of `value`, what the client can have added by its lag and its stops; 0 where
            it is little. Then the value is an upper bound: the service is better by at most this
            (M3, M27).
    """

    q: float | None
    value: float | None
    interval: Interval | None
    across_restarts: Interval | None
    requests: int
    effective: float
    refused: str = ""
    lateness_ns: float = 0.0
