"""Which client supplies far more than its share of the slow requests (M14). Pure.

Poisson streams that were split from one are alike: who sends a request is drawn by lot and says
nothing of how slow it will be. So of X slow requests a good client that sent n of N supplies as
many as a draw without putting back gives. A client is *unequal* where all of three hold:

    its rate of slow requests is over twice that of the middle one of the others;
    a draw would give it as many with a probability of `FALSE_RATE` / tests at most;
    it supplies more again and again, not in one moment: requests behind one another on a stalled
    connection are slow together, and are no independent draws.

The first two make the false rate `FALSE_RATE` a point at most where slow requests are independent;
the third keeps it there where they come in clusters (simulated: `tail_test`). It has two forms,
each with half of the rate. One is for a client that is always slow: a t-like sum over slices. The
other is for one that stops now and then: an *episode* is a row of slices in which it has too many,
and the slow requests of each episode belong to one client as a whole, drawn by its share.

A few stalls, each as long as several slices, make a good client unequal too. So who is unequal is
*named* only where it has too many in all parts of the run alike (Student's t over `PARTS`), or by
the second form.

Twice the *others*, because of two clients none can supply more than twice its share. The middle one
of them, because where half of the clients are slow, all others together are slow too.

Slow is what lies above a quantile of all requests together: p99, as M14 has it, and p95 and p90,
because all above p99 may come from one bad moment of a client that is slow all the time. Each
client is tested at each of them, so a test has `FALSE_RATE` / (clients x quantiles).

Source: the episodes' bound is that of Chernoff, Annals of Mathematical Statistics 23 (1952).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

FALSE_RATE = 1e-3  # of a point: that any good client is named
PARTS = 20  # of a run, equally long
TIMES = 2.0
QUANTILES = (0.99, 0.95, 0.9)
_TINY, _STEPS = 1e-12, 80
_LAGS = 3  # the longest lag is this part of the run
_BY_CHANCE = 2.5  # standard deviations of an autocorrelation where there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What one client supplies of the slow requests.

    Attributes:
        beyond: slow requests of it.
        factor: its rate of slow requests, as a multiple of that of the middle one of the others;
            None: nothing to compare.
        p: probability of as many by a draw; None: its rate is not above the others'.
        steadiness: sum over slices of what it supplies too much, in its standard deviations.
        is_unequal: whether it supplies too many, if only by a few long stalls.
        is_named: whether it is slow all the time, or again and again.
    """

    beyond: int
    factor: float | None
    p: float | None
    steadiness: float
    is_unequal: bool
    is_named: bool


def tails(requests: NDArray[np.int64], beyond: NDArray[np.int64]) -> tuple[Tail, ...]:
    """Hold each client against the others.

    Args:
        requests: that each sent in each slice of the run, shape (clients, slices).
        beyond: those of them above the quantile of all together, same shape.
    """
    false_rate = FALSE_RATE / max(1, len(requests) * len(QUANTILES))
    steady_min = -NormalDist().inv_cdf(false_rate / 2)
    n, x = requests.sum(axis=1).tolist(), beyond.sum(axis=1).tolist()
    all_n, all_x = sum(n), sum(x)
    surplus, factors = _surplus(requests, beyond), _factors(requests, beyond)
    everywhere = in_all_parts(surplus)
    result = []
    for nth, (own_n, own_x, steadiness) in enumerate(
        zip(n, x, _steadiness(surplus, beyond), strict=True)
    ):
        factor = factors[nth]
        p = as_many(own_x, own_n, all_x, all_n) if factor is not None and factor > 1 else None
        is_high = factor is not None and factor > TIMES and p is not None and p <= false_rate
        stops = is_high and again(requests, beyond, surplus[nth], nth) <= false_rate / 2
        is_steady = is_high and steadiness >= steady_min
        one = Tail(
            beyond=own_x,
            factor=factor,
            p=p,
            steadiness=steadiness,
            is_unequal=stops or is_steady,
            is_named=stops or (is_steady and everywhere[nth] <= false_rate / 2),
        )
        result.append(one)
    return tuple(result)


def last_bin(counts: NDArray[np.int64], q: float) -> int:
    """The last bin of a histogram that is not slow, so that about 1 − q of all is.

    It is that of the quantile. Where few lie above it, because many times are equal or infinite, it
    is the one before: then these are slow too.

    Args:
        counts: of every bin, what was lost in the last.
        q: quantile.

    >>> last_bin(np.array([50, 30, 15, 5]), 0.9), last_bin(np.array([50, 0, 30, 20]), 0.9)
    (2, 2)
    """
    total = int(counts.sum())
    upto = np.cumsum(counts)
    at = int(np.searchsorted(upto, max(1, math.ceil(q * total))))
    above = total - int(upto[min(at, len(upto) - 1)])
    return at - 1 if 2 * above < (1 - q) * total else at


def as_many(x: int, n: int, all_x: int, all_n: int) -> float:
    """Probability that n draws without putting back have x or more of all_x among all_n.

    The hypergeometric tail: its first term by gamma functions, each next one by a ratio. Below the
    mean it is what the other tail leaves: there the first term may be too small for a float.

    >>> round(as_many(2, 3, 2, 4), 12), as_many(0, 3, 2, 4)
    (0.5, 1.0)
    >>> as_many(300, 300_000, 12_000, 1_200_000)
    1.0
    """
    if x <= max(0, n + all_x - all_n):
        return 1.0
    if x > min(n, all_x):
        return 0.0
    middle = n * all_x / all_n
    if x < middle:  # fewer than x of the slow are its own: more than all_x - x are the others'
        return 1.0 - as_many(all_x - x + 1, all_n - n, all_x, all_n)
    term = math.exp(_log_ways(all_x, x) + _log_ways(all_n - all_x, n - x) - _log_ways(all_n, n))
    result = term
    for i in range(x, min(n, all_x)):
        term *= (all_x - i) * (n - i) / ((i + 1) * (all_n - all_x - n + i + 1))
        result += term
        if i > middle and term < result * 1e-16:
            break
    return min(1.0, result)


def _log_ways(n: int, k: int) -> float:
    """Logarithm of the number of ways to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _factors(requests: NDArray[np.int64], beyond: NDArray[np.int64]) -> list[float | None]:
    """The rate of each over that of the middle one of the others that sent anything."""
    n, x = requests.sum(axis=1), beyond.sum(axis=1)
    rates = np.divide(x, n, out=np.zeros(len(n)), where=n > 0)
    if not x.any() or np.count_nonzero(n) < 2:
        return [None] * len(n)
    ordered = np.sort(rates[n > 0])
    places = np.searchsorted(ordered, rates)
    result: list[float | None] = []
    for rate, place, sent in zip(rates.tolist(), places.tolist(), n.tolist(), strict=True):
        middle = _middle_without(ordered, place)
        both = rate / middle if middle else math.inf if rate else 1.0
        result.append(both if sent else None)
    return result


def _middle_without(ordered: NDArray[np.float64], place: int) -> float:
    """Median of ascending values without the one at a place.

    >>> _middle_without(np.array([1.0, 2.0, 3.0, 9.0]), 3)
    2.0
    """
    rest = len(ordered) - 1
    low, high = (rest - 1) // 2, rest // 2
    return float(ordered[low + (low >= place)] + ordered[high + (high >= place)]) / 2


def _surplus(requests: NDArray[np.int64], beyond: NDArray[np.int64]) -> NDArray[np.float64]:
    """What each supplies too much in a slice, shape (clients, slices)."""
    all_n, all_x = requests.sum(axis=0), beyond.sum(axis=0)
    share = np.divide(all_x, all_n, out=np.zeros(len(all_n)), where=all_n > 0)
    result: NDArray[np.float64] = beyond - requests * share
    return result


def _steadiness(surplus: NDArray[np.float64], beyond: NDArray[np.int64]) -> list[float]:
    """Self-normalised: Σd / √(f Σd²), where d is what each supplies too much in a slice.

    A stall that lasts for several slices is one event in all of them. So f is how much the scatter
    of the sum grows by what neighbouring slices have in common: 1 + 2Σρ, over the first lags with
    an autocorrelation ρ above what chance gives. It is that of the share of a slice's slow
    requests, because how many there are is the server's doing.
    """
    shares = surplus / np.maximum(1, beyond.sum(axis=0))
    scale = np.sqrt((surplus**2).sum(axis=1) * _in_common(shares))
    total = surplus.sum(axis=1)
    result = np.divide(total, scale, out=np.zeros(len(total)), where=scale > 0)
    return [float(one) for one in result]


def _in_common(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 + 2Σρ of each client, 1 at the least."""
    slices = shares.shape[1]
    rest = shares - shares.mean(axis=1, keepdims=True)
    square = np.maximum((rest**2).sum(axis=1), _TINY)
    result, goes_on = np.ones(len(shares)), np.ones(len(shares), bool)
    for lag in range(1, slices // _LAGS):
        alike = (rest[:, lag:] * rest[:, :-lag]).sum(axis=1) / square
        goes_on &= alike > _BY_CHANCE / math.sqrt(slices)
        if not goes_on.any():
            break
        result += 2 * np.where(goes_on, alike, 0)
    return result


def in_all_parts(surplus: NDArray[np.float64]) -> list[float]:
    """Probability that chance gives each client so many too many in all parts of the run alike.

    Student's t over the parts. A long stall is in few of them, so they differ by as much.

    Args:
        surplus: as `_surplus` gives it.
    """
    from scipy import special  # noqa: PLC0415  # it loads for long

    parts = min(PARTS, surplus.shape[1])
    if parts < 2:
        return [1.0] * len(surplus)
    every = np.array_split(surplus, parts, axis=1)
    sums = np.array([part.sum(axis=1) for part in every])
    error = np.maximum(sums.std(axis=0, ddof=1) / math.sqrt(parts), _TINY)
    return [float(one) for one in special.stdtr(parts - 1, -sums.mean(axis=0) / error)]


def again(
    requests: NDArray[np.int64],
    beyond: NDArray[np.int64],
    surplus: NDArray[np.float64],
    nth: int,
) -> float:
    """Bound of the probability that a client has so many, if episodes are drawn as a whole.

    An episode of X slow requests is the client's with its share w of the requests, so

        P ≤ min over t of exp(-t x) · Π (1 - w + w exp(t X))

    Whatever comes in smaller clusters scatters less, so the bound holds for it as well.

    Args:
        requests: of all, as in `tails`.
        beyond: of all, as in `tails`.
        surplus: of this client, by slice.
        nth: the client.
    """
    high = surplus > 0
    starts = np.flatnonzero(~(high & np.concatenate([[False], high[:-1]])))
    n, x = (np.add.reduceat(of, starts, axis=1) for of in (requests, beyond))
    total = x.sum(axis=0).astype(float)
    own, share = float(x[nth].sum()), n[nth] / np.maximum(1, n.sum(axis=0))
    used = total > 0
    if not used.any():
        return 1.0
    total, share = total[used], np.clip(share[used], _TINY, 1 - _TINY)
    t = (np.geomspace(1e-2, 1e2, _STEPS) / total.max())[:, None]
    logs = np.logaddexp(np.log1p(-share), np.log(share) + t * total).sum(axis=1) - t[:, 0] * own
    return float(math.exp(min(0.0, float(logs.min()))))


def named(by_quantile: Mapping[float, Sequence[Tail]]) -> dict[int, float]:
    """The clients that are named, from 0, each with the highest quantile at which it is."""
    return _at_highest({q: [one.is_named for one in of] for q, of in by_quantile.items()})


def unequal(by_quantile: Mapping[float, Sequence[Tail]]) -> dict[int, float]:
    """The clients that are unequal and not named, as `named` has them."""
    result = _at_highest({q: [one.is_unequal for one in of] for q, of in by_quantile.items()})
    sure = named(by_quantile)
    return {nth: q for nth, q in result.items() if nth not in sure}


def _at_highest(by_quantile: Mapping[float, Sequence[bool]]) -> dict[int, float]:
    result: dict[int, float] = {}
    for q in sorted(by_quantile):
        result |= {nth: q for nth, one in enumerate(by_quantile[q]) if one}
    return dict(sorted(result.items()))
