"""Windows that are drawn from a distribution, in place of single requests.

One number of chance moves the count of late requests and the percentiles of a part. The count
decides on which side of the target p99 lies.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sojourn.controllers.look import Window

Q, NORMAL_95 = 0.99, 1.96
N_HI = 368  # fewer requests have no upper end: all are below p99 with more than 2.5 %
BEYOND = 1 + 1e-6
COUNTED = 30.0  # expected late requests, from which on their number is normal
RARE = 0.1  # of requests that are late: up to here a small count of them is Poisson's
TINY = 1e-12
TIMES_S = np.geomspace(0.0005, 60.0, 160)
TIMES: list[float] = TIMES_S.tolist()


class Tail:
    """Shares of requests that take longer than each of `TIMES_S`.

    Attributes:
        late: share that takes longer than the target.
    """

    __slots__ = ("_falls", "late", "shares")

    def __init__(self, shares: NDArray[np.float64], late: float) -> None:
        self.shares, self.late = shares, min(1.0, late)
        self._falls: list[float] = []

    def times_s(self, shares: Sequence[float]) -> list[float]:
        """What these shares of requests exceed; logarithms are linear between two times."""
        if not self._falls:
            self._falls = (-np.log(np.maximum(self.shares, TINY))).tolist()
        return [_at(self._falls, -math.log(min(1.0, max(one, TINY)))) for one in shares]


def _at(falls: list[float], wanted: float) -> float:
    i = bisect_left(falls, wanted)
    if i == 0:
        return TIMES[0]
    if i == len(falls):
        return TIMES[-1]
    part = (wanted - falls[i - 1]) / (falls[i] - falls[i - 1])
    return TIMES[i - 1] + part * (TIMES[i] - TIMES[i - 1])


#: How long it is, requests, late ones, their tail, and chance (standard normal).
Part = tuple[float, int, int, Tail, float]


@dataclass(slots=True)
class Sum:
    """The newest parts of a length, added up.

    Attributes:
        covered_s: how much of the length there is yet.
    """

    length_ms: int
    target_s: float
    covered_s: float = 0.0
    n: int = 0
    above: int = 0
    _luck: float = 0.0
    _parts: deque[Part] = field(default_factory=deque)
    _mixed: dict[int, list[int]] = field(default_factory=dict)  # by tail: parts, requests

    def add(self, part: Part) -> None:
        """A part more, and those away that are too old."""
        self._parts.append(part)
        self._count(part, 1)
        while self.covered_s > self.length_ms / 1000 + 1e-6:
            self._count(self._parts.popleft(), -1)

    def _count(self, part: Part, sign: int) -> None:
        length_s, n, above, tail, luck = part
        self.covered_s += sign * length_s
        self.n += sign * n
        self.above += sign * above
        self._luck += sign * math.sqrt(n) * luck
        mixed = self._mixed.setdefault(id(tail), [0, 0])
        mixed[0] += sign
        mixed[1] += sign * n
        if not mixed[0]:
            del self._mixed[id(tail)]

    def _tail(self) -> Tail:
        """That of all parts, each with the weight of its requests."""
        newest = self._parts[-1][3]
        if len(self._mixed) == 1:
            return newest
        tails = {id(part[3]): part[3] for part in self._parts}
        weights = [(self._mixed[key][1] / self.n, tail) for key, tail in tails.items()]
        shares = sum(weight * tail.shares for weight, tail in weights)
        return Tail(np.asarray(shares), sum(weight * tail.late for weight, tail in weights))

    def window(self) -> Window | None:
        """None: there is less than the length yet."""
        if self.covered_s < self.length_ms / 1000 - 1e-6:
            return None
        if self.n == 0:
            return Window(length_ms=self.length_ms, n=0, above=0)
        spread, least = math.sqrt(Q * (1 - Q) / self.n), 1 / (3 * self.n)
        at = 1 - Q - self._luck / math.sqrt(self.n) * spread
        shares = (at, at + NORMAL_95 * spread, at - NORMAL_95 * spread)
        times_s = self._tail().times_s([max(one, least) for one in shares])
        p99, low, high = (one * 1e9 for one in times_s)
        target_ns = self.target_s * 1e9
        is_late = self.above > self.n - math.ceil(Q * self.n)
        p99 = max(p99, target_ns * BEYOND) if is_late else min(p99, target_ns)
        return Window(
            length_ms=self.length_ms,
            n=self.n,
            p99_ns=p99,
            lo_ns=min(low, p99),
            hi_ns=max(high, p99) if self.n >= N_HI else None,
            above=self.above,
        )


def late(n: int, share: float, luck: float) -> int:
    """How many of n are late: the binomial's quantile at that chance.

    >>> late(1000, 0.01, 0.0), late(100_000, 0.01, 1.0), late(50, 1.0, -3.0)
    (10, 1031, 50)
    >>> late(20, 1.0, -3.0), late(20, 0.5, 0.0), late(20, 0.99, 3.0)
    (20, 10, 20)
    """
    mean = n * share
    if mean >= COUNTED:
        wanted = round(mean + luck * math.sqrt(mean * (1 - share)))
        return min(n, max(0, wanted))
    if share > RARE:
        return _binomial(n, share, luck)
    chance = min(0.5 * math.erfc(-luck / math.sqrt(2)), 1 - TINY)
    count, term = 0, math.exp(-mean)
    total = term
    while total < chance and count < n:
        count += 1
        term *= mean / count
        total += term
    return count


def _binomial(n: int, share: float, luck: float) -> int:
    """The exact quantile, for few requests of which many are late."""
    if share > 0.5:
        return n - _binomial(n, 1 - share, -luck)
    chance = min(0.5 * math.erfc(-luck / math.sqrt(2)), 1 - TINY)
    count, term = 0, (1 - share) ** n
    total = term
    while total < chance and count < n:
        term *= (n - count) / (count + 1) * share / (1 - share)
        count += 1
        total += term
    return count


@lru_cache(maxsize=4096)
def erlang_c(servers: int, offered: float) -> float:
    """Probability that a request waits in M/M/n; 1 where it cannot be served.

    >>> round(erlang_c(1, 0.5), 4), round(erlang_c(2, 1.0), 4)
    (0.5, 0.3333)
    """
    if offered >= servers:
        return 1.0
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = offered * blocked / (k + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))
