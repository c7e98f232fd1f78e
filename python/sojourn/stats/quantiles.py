"""Bounds a quantile without assuming a distribution, or refuses it.

The number of n independent times below the true q-quantile is binomial(n, q), so two order
statistics bound it whatever the distribution (M10). When requests depend on each other, their
effective number n_eff takes the place of n (M9): ranks are found for n_eff and stretched to n.
Where the upper rank does not exist among n the sample cannot carry the quantile: none is given.
"""

from __future__ import annotations

import math
from functools import lru_cache

from sojourn.half_width import normal, student
from sojourn.stats.interval import Estimate, Interval
from sojourn.stats.method import Method
from sojourn.stats.times import Times
from sojourn.text.numbers import percentile

METHOD = Method(
    name="quantiles",
    about="interval of a quantile by order statistics; refused below the sample it needs",
    ids=("M10", "M11"),
    source="David and Nagaraja, Order Statistics, 3rd ed. (2003), section 7.1",
)

EXCEEDANCES_MIN = 2.0  # effective requests above a quantile: below, its value is an accident
_ROUNDING = 1e-9  # keeps n·q = 95.00000000000001 from moving a rank


def ranks(n: float, q: float, *, confidence: float = 0.95) -> tuple[int, int]:
    """Ranks (from 1) of the order statistics that cover quantile `q` of `n` independent times.

    The lower may be below 1 and the upper above n: then that side is unbounded. Their exact
    binomial coverage is at least `confidence` (tested).

    >>> ranks(1000, 0.5)
    (469, 532)
    """
    spread = _z(confidence) * math.sqrt(n * q * (1 - q))
    return (
        math.floor(n * q - spread + _ROUNDING),
        math.ceil(n * q + spread - _ROUNDING) + 1,
    )


@lru_cache(maxsize=1024)
def _z(confidence: float) -> float:
    return normal(confidence)


@lru_cache(maxsize=1024)
def smallest_sample(q: float, *, confidence: float = 0.95) -> int:
    """Fewest independent times for which quantile `q` has a finite upper bound.

    >>> [smallest_sample(q) for q in (0.95, 0.99, 0.999, 0.9999)]
    [110, 563, 5661, 56646]
    """
    high = 1
    while ranks(high, q, confidence=confidence)[1] > high:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if ranks(middle, q, confidence=confidence)[1] > middle:
            low = middle
        else:
            high = middle
    return high


def estimate(
    times: Times,
    q: float,
    *,
    correlation: float = 1.0,
    confidence: float = 0.95,
    across_restarts: Interval | None = None,
) -> Estimate:
    """Quantile `q` with its interval; refused if the sample cannot carry it.

    Where the requests are enough and only their dependence is in the way, the value is given with
    no upper bound (`inf`), as long as two independent ones are above it.

    Args:
        times: sojourn times, ns; lost requests stand at +infinity.
        q: quantile in (0, 1).
        correlation: n / n_eff, at least 1 (`independence`).
        confidence: least coverage, in (0, 1).
        across_restarts: handed through to the estimate.
    """
    effective = times.n / max(1.0, correlation)
    needed = smallest_sample(q, confidence=confidence)
    lower, upper = ranks(effective, q, confidence=confidence)
    if is_refused(times.n, effective, q, confidence=confidence):
        return Estimate(
            q=q,
            value=None,
            interval=None,
            across_restarts=None,
            requests=times.n,
            effective=effective,
            refused=_too_few(times.n, effective, q, needed),
        )
    stretch = times.n / effective
    first = max(1, math.floor(lower * stretch + _ROUNDING))
    last = times.n + 1 if effective < needed else math.ceil(upper * stretch - _ROUNDING)
    return Estimate(
        q=q,
        value=times.quantile(q),
        interval=Interval(lo=times.at_rank(first)[0], hi=times.at_rank(last)[1]),
        across_restarts=across_restarts,
        requests=times.n,
        effective=effective,
    )


def is_refused(n: float, effective: float, q: float, *, confidence: float = 0.95) -> bool:
    """Whether `n` requests that count as `effective` independent ones do not carry quantile `q`.

    >>> is_refused(563, 563, 0.99), is_refused(562, 562, 0.99), is_refused(563, 100, 0.99)
    (False, True, True)
    """
    is_small = n < smallest_sample(q, confidence=confidence)
    return is_small or effective * (1 - q) < EXCEEDANCES_MIN


def sample(times: Times, q: float) -> float | None:
    """Quantile `q` of these very requests, ns; None if fewer than two lie above it.

    Of one run it says nothing of the next one: it is for comparing many runs.
    """
    return times.quantile(q) if times.n * (1 - q) >= EXCEEDANCES_MIN else None


def mean_estimate(
    times: Times,
    *,
    correlation: float = 1.0,
    confidence: float = 0.95,
    across_restarts: Interval | None = None,
) -> Estimate:
    """The mean with its interval (Student t on n_eff); refused if a request never completed."""
    effective = times.n / max(1.0, correlation)
    moments = times.moments()
    refused = ""
    if moments is None:
        refused = "no request completed" if times.n else "nothing was measured"
    elif times.lost:
        refused = f"{times.lost} of {times.n} requests never completed: their mean is infinite"
    elif effective < _MEAN_NEEDS:
        refused = (
            f"too few requests: the mean needs {_MEAN_NEEDS} independent ones, the {times.n:,} "
            f"measured here count as {effective:.0f}"
        )
    if refused or moments is None:
        return Estimate(
            q=None,
            value=None,
            interval=None,
            across_restarts=None,
            requests=times.n,
            effective=effective,
            refused=refused,
        )
    mean, variance = moments
    half = student(effective - 1, confidence) * math.sqrt(variance / effective)
    return Estimate(
        q=None,
        value=mean,
        interval=Interval(lo=max(0.0, mean - half), hi=mean + half),
        across_restarts=across_restarts,
        requests=times.n,
        effective=effective,
    )


_MEAN_NEEDS = 30  # below it, the t interval of a skewed sample is not worth its name


def _too_few(n: int, effective: float, q: float, needed: int) -> str:
    name = percentile(q)
    if n < needed:
        return f"too few requests: {name} needs {needed:,}, there are {n:,}"
    return (
        f"too few requests: {name} needs {math.ceil(EXCEEDANCES_MIN / (1 - q) - _ROUNDING):,} "
        f"independent ones; the {n:,} measured here depend on each other and count as "
        f"{effective:,.0f}"
    )
