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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
        p: probability of as many by a draw.
        steadiness: sum over slices of what it supplies too much, in its standard deviations.
        is_named: whether it is the one.
    """

    beyond: int
    factor: float | None
    p: float
    steadiness: float
    is_named: bool


def tails(requests: NDArray[np.int64], beyond: NDArray[np.int64]) -> tuple[Tail, ...]:
    """Hold each client against the others.

    Args:
        requests: that each sent in each slice of the run, shape (clients, slices).
        beyond: those of them above the quantile of all together, same shape.
    """
    count = len(requests)
    false_rate = FALSE_RATE / max(1, count * len(QUANTILES))
    return tuple(_tail(requests, beyond, nth, false_rate) for nth in range(count))


def _tail(
    requests: NDArray[np.int64], beyond: NDArray[np.int64], nth: int, false_rate: float
) -> Tail:
    from scipy import stats  # noqa: PLC0415  # slow to load, and one host needs none of it

    n, x = int(requests[nth].sum()), int(beyond[nth].sum())
    all_n, all_x = int(requests.sum()), int(beyond.sum())
    factor = _factor(x, n, all_x - x, all_n - n)
    p = float(stats.hypergeom.sf(x - 1, all_n, all_x, n)) if x else 1.0
    steadiness = _steadiness(requests, beyond, nth)
    is_steady = steadiness >= float(stats.norm.isf(false_rate))
    return Tail(
        beyond=x,
        factor=factor,
        p=p,
        steadiness=steadiness,
        is_named=factor is not None and factor > TIMES and p <= false_rate and is_steady,
    )


def _factor(x: int, n: int, other_x: int, other_n: int) -> float | None:
    if not n or not other_n or not x + other_x:
        return None
    return (x / n) / (other_x / other_n) if other_x else float("inf")


def _steadiness(requests: NDArray[np.int64], beyond: NDArray[np.int64], nth: int) -> float:
    """Self-normalised: Σd / √Σd², where d is what it supplies too much in a slice."""
    all_n, all_x = requests.sum(axis=0), beyond.sum(axis=0)
    expected = np.divide(requests[nth] * all_x, all_n, out=np.zeros(len(all_n)), where=all_n > 0)
    surplus = beyond[nth] - expected
    scale = float(np.sqrt((surplus**2).sum()))
    return float(surplus.sum()) / scale if scale else 0.0


def named(by_quantile: Mapping[float, Sequence[Tail]]) -> dict[int, float]:
    """The clients that are named, from 0, each with the highest quantile at which it is."""
    result: dict[int, float] = {}
    for q in sorted(by_quantile):
        result |= {nth: q for nth, one in enumerate(by_quantile[q]) if one.is_named}
    return dict(sorted(result.items()))
