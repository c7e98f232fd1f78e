"""Real queues with a known border, for tests: the search meets their clusters as they come.

`plan.simulated` tells the plan the true size of clusters; here every request is drawn and served,
and misses are counted as the generator counts them. A queue's border is a closed form where there
is one, else that of a long run of the same queue (`bench/search/truth.py` finds it anew).

A server works at a rate that changes with time: 1, 0 in a stall, less in a slow phase. With
capacity C(t), the work that it could have done until t, a request that arrives at t and wants S
ends when C has grown by its wait and S: Lindley's recursion in the time of C, then back to t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from sojourn.plan.points import Outcome, Point
from sojourn.plan.rehearse import imagine
from sojourn.plan.time_budget import AROUND_S, RESTART_S
from sojourn.samples.clusters import of_times

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One server.

    Attributes:
        name: as the table of the bench has it.
        rate_rps: requests that it can serve in a second without stalls.
        bound_s: of the target p99 ≤ bound, s.
        border: load at which 1 % misses the bound, as a share of `rate_rps`.
        is_fixed: service times all alike, else exponential.
        stalls: (a second, shortest s, longest s): stops at random times, of uniform length.
        slow: (speed, s, every s): it works at this speed for so long, once in every.
    """

    name: str
    rate_rps: float
    bound_s: float
    border: float
    is_fixed: bool = False
    stalls: tuple[float, float, float] | None = None
    slow: tuple[float, float, float] | None = None

    def run(
        self, rps: float, seconds: float, rng: Generator, *, capacity: float = 1.0
    ) -> tuple[Floats, Floats]:
        """Arrivals (s, ascending) and sojourn times (s) of an open-loop Poisson run."""
        count = rng.poisson(rps * seconds)
        at = np.sort(rng.random(count) * seconds)
        work = np.ones(count) if self.is_fixed else rng.exponential(1.0, count)
        work = work / (self.rate_rps * capacity)
        time, able = self._capacity(seconds, rng)
        arrived = np.interp(at, time, able)
        served = np.cumsum(work)
        before = np.concatenate([[0.0], served[:-1]])
        done = served + np.maximum.accumulate(arrived - before)
        return at, np.interp(done, able, time) - at

    def _capacity(self, seconds: float, rng: Generator) -> tuple[Floats, Floats]:
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


# The services of the acceptance table. M/M/1: p99 of T ~ Exp(μ − λ) is the bound b at μ − ln 100/b.
QUEUES = (
    Queue(name="mm1", rate_rps=51_200, bound_s=1e-3, border=1 - math.log(100) / 51.2),
    Queue(name="md1", rate_rps=25_600, bound_s=1e-3, border=0.909, is_fixed=True),
    Queue(
        name="stall", rate_rps=50_000, bound_s=1e-3, border=0.646,
        is_fixed=True, stalls=(1.7, 1e-3, 5e-3),
    ),
    Queue(
        name="vac", rate_rps=50_000, bound_s=1e-3, border=0.540,
        is_fixed=True, stalls=(0.4, 5e-3, 20e-3),
    ),
    Queue(
        name="slow", rate_rps=50_000, bound_s=20e-3, border=0.774,
        is_fixed=True, slow=(0.6, 0.1, 2.0),
    ),
)  # fmt: skip


@dataclass(kw_only=True)
class Served:
    """A queue as the plan meets it: each start of the service has a capacity of its own.

    Attributes:
        restart_sd: standard deviation of the capacity between starts, as a ratio.
        seed: of all draws; one search.
    """

    queue: Queue
    restart_sd: float = 0.05
    seed: int = 1
    last_life: str = ""
    lives: dict[str, float] = field(default_factory=dict)

    def measure(self, point: Point) -> Outcome:
        """What becomes of one point."""
        rng = np.random.default_rng([self.seed, point.seed])
        draw = max(0.5, 1 + self.restart_sd * rng.standard_normal())
        capacity = self.lives.setdefault(point.life, draw)
        rate = self.queue.rate_rps * capacity
        ideal = imagine(point, capacity_rps=rate)
        is_fresh, self.last_life = point.life != self.last_life, point.life
        wall_s = point.measure_s + point.warmup_s + AROUND_S + (RESTART_S if is_fresh else 0.0)
        if point.offered_rps is None:
            return replace(ideal, wall_s=wall_s)
        whole_s = point.warmup_s + point.measure_s
        at, sojourn = self.queue.run(point.offered_rps, whole_s, rng, capacity=capacity)
        kept = at >= point.warmup_s
        misses_ns = 1e9 * at[kept][sojourn[kept] > self.queue.bound_s]
        return replace(
            ideal,
            requests=int(kept.sum()),
            over_bound=len(misses_ns),
            clusters=of_times(misses_ns, len(misses_ns), 1e9 * self.queue.bound_s),
            wall_s=wall_s,
        )
