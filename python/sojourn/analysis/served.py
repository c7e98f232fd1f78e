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

from sojourn.plan.points import Outcome, Point, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.time_budget import AROUND_S, RESTART_S
from sojourn.samples.clusters import of_times
from sojourn.samples.excluded import EXCLUDED_MAX, is_overrun, surely_of_void

Floats = NDArray[np.float64]

STOP_MEAN_S, STOP_LEAST_S = 1.5e-3, 0.2e-3
RECOVERY = 1.4  # of the mean: about the 90th percentile
ALLOWED = 1.05  # more than this factor of allowance makes an upper bound (M33)


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
        arrived = np.interp(sent, time, able)
        served = np.cumsum(work)
        before = np.concatenate([[0.0], served[:-1]])
        done = served + np.maximum.accumulate(arrived - before)
        ended = np.interp(done, able, time)
        return (stops.after(ended) if stops else ended) - at

    def work(self, count: int, rng: Generator, *, capacity: float = 1.0) -> Floats:
        """What so many requests want, s of the server at its full speed."""
        work = np.ones(count) if self.is_fixed else rng.exponential(1.0, count)
        return np.asarray(work / (self.rate_rps * capacity), np.float64)

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


def void_shares(
    queue: Queue,
    stopped: float,
    load: float,
    seed: int,
    *,
    seconds: float = 2.3,
    warmup_s: float = 0.3,
) -> tuple[float, float, float] | None:
    """The same requests beside stops of the client and without any.

    Args:
        queue: they meet.
        stopped: share of the time.
        load: offered, as a share of what the queue can serve.
        seed: of all draws.
        seconds: in which they arrive.
        warmup_s: of it, not counted.

    Returns:
        (excluded, missed of what is left, missed without stops) as shares; None where fewer than 50
        requests are left.
    """
    rng = np.random.default_rng([seed, 7])
    stops = Stops.drawn(stopped, 2 * seconds, np.random.default_rng([seed, 9]))
    at = np.sort(rng.random(rng.poisson(load * queue.rate_rps * seconds)) * seconds)
    state = rng.bit_generator.state
    beside = queue.sojourn(at, seconds, rng, stops=stops)
    rng.bit_generator.state = state
    alone = queue.sojourn(at, seconds, rng)
    counts = at >= warmup_s
    p99_s = float(np.quantile(beside[counts], 0.99))
    left = counts & ~stops.reach(at, load, p99_s)
    if left.sum() < 50:
        return None
    missed = [float((times > queue.bound_s).mean()) for times in (beside[left], alone[counts])]
    return 1 - float(left.sum() / counts.sum()), missed[0], missed[1]


# The services of the acceptance table. M/M/1: p99 of T ~ Exp(μ − λ) is the bound b at μ − ln 100/b.
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
)


@dataclass(kw_only=True)
class Served:
    """A queue as the plan meets it: each start of the service has a capacity of its own.

    Attributes:
        restart_sd: standard deviation of the capacity between starts, as a ratio.
        seed: of all draws; one search.
        stopped: share of the time in which the client stands still.
    """

    queue: Queue
    restart_sd: float = 0.05
    seed: int = 1
    stopped: float = 0.0
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
        stops = Stops.drawn(self.stopped, 2 * whole_s, rng) if self.stopped else None
        at, sojourn = self.queue.run(
            point.offered_rps, whole_s, rng, capacity=capacity, stops=stops
        )
        selected = at >= point.warmup_s
        due = int(selected.sum())
        behind = 1 - float((selected & (at + sojourn <= whole_s)).sum()) / max(1, due)
        if stops and due:
            p99_s = float(np.quantile(sojourn[selected], 0.99))
            selected &= ~stops.reach(at, point.offered_rps / rate, p99_s)
        outcome = self._counted(ideal, at[selected], sojourn[selected], due, wall_s)
        missed = (outcome.over_bound or 0) / max(1, outcome.requests)
        if is_overrun(missed, behind, self.stopped):
            return replace(outcome, verdict=Verdict.VIOLATED, over_surely=None)
        return outcome

    def _counted(
        self, ideal: Outcome, at: Floats, sojourn: Floats, due: int, wall_s: float
    ) -> Outcome:
        """The misses as generator and lab count them; `due`: requests before any was excluded."""
        bound_s = self.queue.bound_s
        misses_ns = 1e9 * at[sojourn > bound_s]
        excluded = 1 - len(at) / max(1, due)
        allowance = 1 + 0.5 * excluded
        is_one_sided = allowance > ALLOWED
        is_void = excluded > EXCLUDED_MAX
        surely = int((sojourn > bound_s * allowance).sum())
        if is_void:
            surely = surely_of_void(len(misses_ns), excluded)
        outcome = replace(
            ideal,
            requests=len(at),
            over_bound=len(misses_ns),
            over_surely=surely if is_one_sided else None,
            clusters=of_times(misses_ns, len(misses_ns), 1e9 * bound_s),
            wall_s=wall_s,
        )
        if len(at) and not is_void:
            return outcome
        return replace(outcome, verdict=Verdict.UNKNOWN, over_surely=surely if len(at) else None)
