"""Which client supplies far more than its share of the slow requests (M14). Pure.

Poisson streams that were split from one are alike: who sends a request is drawn by lot and says
nothing of how slow it will be. So of X slow requests a good client that sent n of N supplies as
many as a draw without putting back gives. A client is named where all of three hold:

    its rate of slow requests is over twice that of the others together;
    a draw would give it as many with a probability of `FALSE_RATE` / tests at most;
    it supplies more in most slices of the run, not in one: requests behind one another on a
    stalled connection are slow together, and are no independent draws (a t-like sum over slices).

The first two make the false rate `FALSE_RATE` a point at most where slow requests are independent;
the third keeps it there where they come in clusters (simulated: `tail_test`). Twice the *others*
and not twice its share of all: of two clients none can supply more than twice its share.

Slow is what lies above a quantile of all requests together: p99, as M14 has it, and p95 and p90,
because all above p99 may come from one bad moment of a client that is slow all the time. Each
client is tested at each of them, so a test has `FALSE_RATE` / (clients x quantiles).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

FALSE_RATE = 1e-3  # of a point: that any good client is named
TIMES = 2.0
QUANTILES = (0.99, 0.95, 0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What one client supplies of the slow requests.

    Attributes:
        beyond: slow requests of it.
        factor: its rate of slow requests, as a multiple of the others'; None: nothing to compare.
        p: probability of as many by a draw; None: its rate is not above the others'.
        steadiness: sum over slices of what it supplies too much, in its standard deviations.
        is_named: whether it is the one.
    """

    beyond: int
    factor: float | None
    p: float | None
    steadiness: float
    is_named: bool


def tails(requests: NDArray[np.int64], beyond: NDArray[np.int64]) -> tuple[Tail, ...]:
    """Hold each client against the others.

    Args:
        requests: that each sent in each slice of the run, shape (clients, slices).
        beyond: those of them above the quantile of all together, same shape.
    """
    false_rate = FALSE_RATE / max(1, len(requests) * len(QUANTILES))
    steady_min = -NormalDist().inv_cdf(false_rate)
    n, x = requests.sum(axis=1).tolist(), beyond.sum(axis=1).tolist()
    all_n, all_x = sum(n), sum(x)
    result = []
    for own_n, own_x, steadiness in zip(n, x, _steadiness(requests, beyond), strict=True):
        factor = _factor(own_x, own_n, all_x - own_x, all_n - own_n)
        p = as_many(own_x, own_n, all_x, all_n) if factor is not None and factor > 1 else None
        is_high = factor is not None and factor > TIMES and p is not None and p <= false_rate
        is_named = is_high and steadiness >= steady_min
        one = Tail(beyond=own_x, factor=factor, p=p, steadiness=steadiness, is_named=is_named)
        result.append(one)
    return tuple(result)


def as_many(x: int, n: int, all_x: int, all_n: int) -> float:
    """Probability that n draws without putting back have x or more of all_x among all_n.

    The hypergeometric tail: its first term by gamma functions, each next one by a ratio.

    >>> round(as_many(2, 3, 2, 4), 12), as_many(0, 3, 2, 4)
    (0.5, 1.0)
    """
    if x <= max(0, n + all_x - all_n):
        return 1.0
    if x > min(n, all_x):
        return 0.0
    term = math.exp(_log_ways(all_x, x) + _log_ways(all_n - all_x, n - x) - _log_ways(all_n, n))
    result = term
    middle = n * all_x / all_n
    for i in range(x, min(n, all_x)):
        term *= (all_x - i) * (n - i) / ((i + 1) * (all_n - all_x - n + i + 1))
        result += term
        if i > middle and term < result * 1e-16:
            break
    return min(1.0, result)


def _log_ways(n: int, k: int) -> float:
    """Logarithm of the number of ways to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _factor(x: int, n: int, other_x: int, other_n: int) -> float | None:
    if not n or not other_n or not x + other_x:
        return None
    return (x / n) / (other_x / other_n) if other_x else float("inf")


def _steadiness(requests: NDArray[np.int64], beyond: NDArray[np.int64]) -> list[float]:
    """Self-normalised: Σd / √Σd², where d is what each supplies too much in a slice."""
    all_n, all_x = requests.sum(axis=0), beyond.sum(axis=0)
    share = np.divide(all_x, all_n, out=np.zeros(len(all_n)), where=all_n > 0)
    surplus = beyond - requests * share
    scale = np.sqrt((surplus**2).sum(axis=1))
    total = surplus.sum(axis=1)
    result = np.divide(total, scale, out=np.zeros(len(total)), where=scale > 0)
    return [float(one) for one in result]


def named(by_quantile: Mapping[float, Sequence[Tail]]) -> dict[int, float]:
    """The clients that are named, from 0, each with the highest quantile at which it is."""
    result: dict[int, float] = {}
    for q in sorted(by_quantile):
        result |= {nth: q for nth, one in enumerate(by_quantile[q]) if one.is_named}
    return dict(sorted(result.items()))
