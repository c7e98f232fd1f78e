"""Real queues with a known border, for tests: every request is drawn and served.

A queue's border is a closed form where there is one, else that of a long run of the same queue
(`bench/search/truth.py` finds it anew).

Servers work at a rate that changes with time: 1, 0 in a stall, less in a slow phase. With capacity
C(t), the work that each could have done until t, a request that arrives at t and wants S ends when
C has grown by its wait and S: the queue's recursion in the time of C, then back to t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapreplace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from sojourn.stats.queueing import mmn_over

Floats = NDArray[np.float64]

STOP_MEAN_S, STOP_LEAST_S = 1.5e-3, 0.2e-3
RECOVERY = 1.4  # of the mean: about the 90th percentile


@dataclass(frozen=True, slots=True)
class Stops:
    """When the client stands still: begins and ends, s, ascending and disjoint."""

    begin: Floats
    end: Floats

    @classmethod
    def drawn(cls, share: float, seconds: float, rng: Generator) -> Stops:
        """Stops of 0.2 to 30 ms, mean 1.5 ms, that take this share of the time."""
        gap_s = STOP_MEAN_S * (1 - share) / share
        count = int(2 * seconds * share / STOP_MEAN_S) + 10
        lengths = np.minimum(
            STOP_LEAST_S + rng.exponential(STOP_MEAN_S - STOP_LEAST_S, count), 0.03
        )
        begin = np.cumsum(rng.exponential(gap_s, count)) + np.concatenate(
            [[0], lengths.cumsum()[:-1]]
        )
        return cls(begin, begin + lengths)

    def after(self, at: Floats) -> Floats:
        """These times, or the end of the stop in which they lie."""
        stop = np.searchsorted(self.begin, at, side="right") - 1
        ends = np.where(stop >= 0, self.end[np.maximum(stop, 0)], -np.inf)
        return np.asarray(np.maximum(at, ends), np.float64)

    def reach(self, at: Floats, load: float, p99_s: float) -> NDArray[np.bool_]:
        """Which due times a stop reached, by M27 and M33 (`load/src/watch/outage.rs`)."""
        lengths = self.end - self.begin
        begin = self.begin - np.minimum(lengths, p99_s)
        end = np.maximum.accumulate(
            self.end + RECOVERY * min(load / max(1e-9, 1 - load), 20) * lengths
        )
        last = np.searchsorted(begin, at, side="right") - 1
        return np.asarray((last >= 0) & (at < end[np.maximum(last, 0)]), np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One service. It serves requests in the order in which they come.

    Attributes:
        name: as the table of the bench has it.
        rate_rps: requests that all servers can serve in a second without stalls.
        bound_s: of the target p99 ≤ bound, s.
        border: load at which 1 % misses the bound, as a share of `rate_rps`.
        is_fixed: service times all alike, else exponential.
        stalls: (a second, shortest s, longest s): stops at random times, of uniform length.
        slow: (speed, s, every s): it works at this speed for so long, once in every.
        servers: how many there are.
        modes: capacities that a start may have, all alike in number; (): starts scatter.
    """

    name: str
    rate_rps: float
    bound_s: float
    border: float
    is_fixed: bool = False
    stalls: tuple[float, float, float] | None = None
    slow: tuple[float, float, float] | None = None
    servers: int = 1
    modes: tuple[float, ...] = ()

    def start(self, rng: Generator, sd: float) -> float:
        """The capacity of one start of the service, as a ratio.

        Args:
            rng: of the draw.
            sd: standard deviation between starts where there are no modes.
        """
        draw = float(rng.standard_normal())
        if not self.modes:
            return max(0.5, 1 + sd * draw)
        chance = (1 + math.erf(draw / math.sqrt(2))) / 2  # uniform
        return self.modes[min(int(chance * len(self.modes)), len(self.modes) - 1)]

    def run(
        self,
        rps: float,
        seconds: float,
        rng: Generator,
        *,
        capacity: float = 1.0,
        stops: Stops | None = None,
    ) -> tuple[Floats, Floats]:
        """Arrivals (s, ascending) and sojourn times (s) of an open-loop Poisson run."""
        count = rng.poisson(rps * seconds)
        at = np.sort(rng.random(count) * seconds)
        return at, self.sojourn(at, seconds, rng, capacity=capacity, stops=stops)

    def sojourn(
        self,
        at: Floats,
        seconds: float,
        rng: Generator,
        *,
        capacity: float = 1.0,
        stops: Stops | None = None,
    ) -> Floats:
        """Sojourn times (s) of requests that arrive at these times (s, ascending)."""
        work = self.work(len(at), rng, capacity=capacity)
        time, able = self.capacity(seconds, rng)
        sent = stops.after(at) if stops else at
        done = self.served(np.interp(sent, time, able), work, [0.0] * self.servers)
        ended = np.interp(done, able, time)
        return (stops.after(ended) if stops else ended) - at

    def served(self, arrived: Floats, work: Floats, free: list[float]) -> Floats:
        """When requests end, in the time of C.

        Args:
            arrived: when they come, ascending.
            work: what each wants.
            free: when each server is free; it is changed to when it is afterwards.
        """
        if self.servers > 1:
            return _by_several(arrived, work, free)
        served = np.cumsum(work)
        begin = np.maximum(arrived, free[0])
        done = served + np.maximum.accumulate(begin - (served - work))
        if len(done):
            free[0] = float(done[-1])
        return np.asarray(done, np.float64)

    def work(self, count: int, rng: Generator, *, capacity: float = 1.0) -> Floats:
        """What so many requests want, s of a server at its full speed."""
        work = np.ones(count) if self.is_fixed else rng.exponential(1.0, count)
        return np.asarray(work * self.servers / (self.rate_rps * capacity), np.float64)

    def capacity(self, seconds: float, rng: Generator) -> tuple[Floats, Floats]:
        """Corners of C(t): times and the work that could have been done until then, s."""
        end = 2 * seconds + 50  # an overloaded run is worked off beyond its end
        edges, rates = [0.0], []
        for begin, until, rate in self._slower(end, rng):
            rates += [1.0, rate]
            edges += [max(begin, edges[-1]), max(until, edges[-1])]
        rates.append(1.0)
        edges.append(max(end, edges[-1]) + 1e5)
        time = np.array(edges)
        return time, np.concatenate([[0.0], np.cumsum(np.diff(time) * np.array(rates))])

    def _slower(self, end: float, rng: Generator) -> list[tuple[float, float, float]]:
        """When it works at less than its full rate: (from, to, rate), ascending."""
        if self.stalls:
            each_s, shortest, longest = self.stalls
            count = rng.poisson(each_s * end)
            begins = np.sort(rng.random(count) * end)
            lengths = rng.uniform(shortest, longest, count)
            return [(b, b + n, 1e-12) for b, n in zip(begins, lengths, strict=True)]
        if self.slow:
            rate, length, every = self.slow
            phase = rng.random() * every
            return [(b, b + length, rate) for b in np.arange(phase, end, every)]
        return []


def _by_several(arrived: Floats, work: Floats, free: list[float]) -> Floats:
    """Each request goes to the server that is free first; `free` is a heap."""
    ended = np.empty(len(work))
    for i, (at, want) in enumerate(zip(arrived.tolist(), work.tolist(), strict=True)):
        ended[i] = max(at, free[0]) + want
        heapreplace(free, float(ended[i]))
    return ended


def _crossed(share: Callable[[float], float], most: float) -> float:
    """The load below `most` at which a share of misses, which grows with it, is 1 %."""
    low, high = 0.0, most
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) < 0.01 else (low, middle)
    return low


def _of_servers(servers: int, rate: float, bound_s: float) -> float:
    """Of M/M/c with `rate` in all, as a share of it."""
    return _crossed(lambda rho: mmn_over(servers, rho, servers / rate, bound_s), 1.0)


def _of_modes(modes: Sequence[float], rate: float, bound_s: float) -> float:
    """Of M/M/1: where 1 % of the requests of all starts together miss."""

    def share(load: float) -> float:
        each = (math.exp(-max(0.0, rate * mode - load) * bound_s) for mode in modes)
        return sum(each) / len(modes)

    return _crossed(share, rate * min(modes)) / rate


# The services of the acceptance table. M/M/1: p99 of T ~ Exp(μ − λ) is the bound b at μ − ln 100/b.
FOUR_RPS, FOUR_S, MODES = 10_000, 5e-3, (0.85, 1.0)
QUEUES = (
    Queue(name="mm1", rate_rps=51_200, bound_s=1e-3, border=1 - math.log(100) / 51.2),
    Queue(name="md1", rate_rps=25_600, bound_s=1e-3, border=0.909, is_fixed=True),
    Queue(
        name="stall",
        rate_rps=50_000,
        bound_s=1e-3,
        border=0.646,
        is_fixed=True,
        stalls=(1.7, 1e-3, 5e-3),
    ),
    Queue(
        name="vac",
        rate_rps=50_000,
        bound_s=1e-3,
        border=0.540,
        is_fixed=True,
        stalls=(0.4, 5e-3, 20e-3),
    ),
    Queue(
        name="slow",
        rate_rps=50_000,
        bound_s=20e-3,
        border=0.774,
        is_fixed=True,
        slow=(0.6, 0.1, 2.0),
    ),
    Queue(
        name="mm4",
        rate_rps=FOUR_RPS,
        bound_s=FOUR_S,
        border=_of_servers(4, FOUR_RPS, FOUR_S),
        servers=4,
    ),
    Queue(
        name="modes",
        rate_rps=25_600,
        bound_s=2e-3,
        border=_of_modes(MODES, 25_600, 2e-3),
        modes=MODES,
    ),
)
