"""The simulated machine: a FCFS service beside a job that takes all it may have.

Requests arrive as a Poisson process; their service times are exponential. The job matters in three
ways, each with a number:

- *Shared cores.* A request that is dispatched to a core which the job holds waits for the rest of
  the job's slice of 3 ms (the base slice of Linux 6.18 for a few CPUs: measured beside a spinning
  task, p99 rises by about that, whatever the quota). With `idle` it does not wait.
- *Memory.* Service times double at most, in proportion to the CPUs that the job uses.
- *A limit of the service.* When its CPU time of a period is used up, it stops until the next.

A job may want less than all (`Moment.wants`), slow the service more or less than usual, and the
service may be down: then its requests wait until it is up again. A look has the times of all
requests that arrived in its period, those included that are served later, so all rules see a delay
up to its own length too early.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sojourn.controllers.look import Allocation, Change, Look, Window
from sojourn.models.league.limit import Limit
from sojourn.models.league.scenarios import Moment
from sojourn.models.league.sharing import (
    BATCH,
    MEMORY,
    PERIOD_S,
    SLICE_S,
    WEB,
    Shape,
    job_cpus,
    seen,
    sharing,
)
from sojourn.stats.quantiles import ranks

LENGTHS_MS = (100, 500, 1000, 15_000)
Q = 0.99


@dataclass
class Machine:
    """It lives from period to period.

    Attributes:
        late, done: requests later than the target, and all, by second.
        job_s: CPU time that the job had, s.
    """

    shape: Shape
    seed: int
    every_s: float = field(default=PERIOD_S, init=False)
    now: dict[str, Allocation] = field(
        default_factory=lambda: {WEB: Allocation(), BATCH: Allocation()}
    )
    late: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    job_s: float = 0.0
    _t_s: float = 0.0
    _free: list[float] = field(default_factory=list)
    _times: deque[NDArray[np.float64]] = field(default_factory=lambda: deque(maxlen=150))
    _job_cpus: float = 0.0
    _lengths_ms: tuple[int, ...] = LENGTHS_MS
    _limit: Limit = field(default_factory=Limit)

    def __post_init__(self) -> None:
        """Its own random numbers, so that every controller sees the same arrivals."""
        self._draw = np.random.default_rng(self.seed)
        self._free = [0.0] * self.shape.cores

    def add_window(self, length_ms: int) -> None:
        """Looks have a window of this length too, in the order of lengths."""
        self._lengths_ms = tuple(sorted({*self._lengths_ms, length_ms}))

    def apply(self, changes: tuple[Change, ...]) -> None:
        """Levels are in force at once."""
        for change in changes:
            before = self.now[change.group]
            self.now[change.group] = before.model_copy(update={change.knob: change.level})

    def period(self, moment: Moment) -> Look:
        """Simulate 100 ms, and see what there is to see."""
        count = int(self._draw.poisson(moment.load * self.shape.peak_rps * PERIOD_S))
        arrivals = np.sort(self._draw.random(count)) * PERIOD_S + self._t_s
        sizes = self._draw.exponential(self.shape.service_s, count)
        luck, waits = self._draw.random(count), self._draw.random(count) * SLICE_S
        own, shared, held = sharing(self.shape, self.now, moment.wants)
        slowed = 1 + MEMORY * moment.memory * self._job_cpus / self.shape.cores
        sizes = sizes * slowed * moment.slows
        if moment.down_s:
            self._free = [max(one, self._t_s + moment.down_s) for one in self._free]
        delays = np.where(luck < held * shared / max(1, own), waits, 0.0)
        times, busy_s, throttled = self._served(arrivals, sizes, delays, own)
        self._t_s += PERIOD_S
        used = busy_s / PERIOD_S
        self._job_cpus = job_cpus(
            self.shape, self.now[BATCH], used=used, own=own, shared=shared, wants=moment.wants
        )
        self.job_s += self._job_cpus * PERIOD_S
        self._count(times)
        self._times.append(np.sort(times))
        delay_ms = float(delays.mean() * 1e3) if count else 0.0
        return self._look(used, delay_ms, throttled)

    def _served(
        self,
        arrivals: NDArray[np.float64],
        sizes: NDArray[np.float64],
        delays: NDArray[np.float64],
        own: int,
    ) -> tuple[NDArray[np.float64], float, float]:
        """Sojourn times in the order of arrival, CPU time used, and 1 if it was throttled."""
        free = heapq.nsmallest(own, self._free)
        free += [self._t_s] * (own - len(free))
        heapq.heapify(free)
        quota, busy_s = self.now[WEB].quota, 0.0
        if quota is None:
            self._limit = Limit()
        times = np.empty(len(arrivals))
        rows = zip(arrivals.tolist(), sizes.tolist(), delays.tolist(), strict=True)
        for i, (arrival, size, delay) in enumerate(rows):
            start = max(arrival, free[0]) + delay
            end = start + size if quota is None else self._limit.end_s(start, size, quota)
            busy_s += size
            heapq.heapreplace(free, end)
            times[i] = end - arrival
        self._free = free
        if quota is None:
            return times, busy_s, 0.0
        return times, *self._limit.period(self._t_s)

    def _count(self, times: NDArray[np.float64]) -> None:
        second = int(self._t_s - PERIOD_S / 2)
        while len(self.done) <= second:
            self.done.append(0)
            self.late.append(0)
        self.done[second] += len(times)
        self.late[second] += int((times > self.shape.target_s).sum())

    def _look(self, used: float, delay_ms: float, throttled: float) -> Look:
        rate = sum(map(len, list(self._times)[-10:])) / min(10, len(self._times)) / PERIOD_S
        web = {
            "cpu": used,
            "load": rate / self.shape.peak_rps,
            "runq_delay_ms": delay_ms,
            "throttled": throttled,
        }
        return seen(self.shape, self.now, self._t_s, self._windows(), web=web, job=self._job_cpus)

    def _windows(self) -> tuple[Window, ...]:
        results = []
        for length_ms in self._lengths_ms:
            parts = list(self._times)[-round(length_ms / 1000 / PERIOD_S) :]
            if len(parts) * PERIOD_S * 1000 >= length_ms - 1:
                times = parts[0] if len(parts) == 1 else np.concatenate(parts)
                results.append(window(times, length_ms, self.shape.target_s))
        return tuple(results)


def window(times: NDArray[np.float64], length_ms: int, target_s: float) -> Window:
    """The window of some sojourn times, s."""
    n = len(times)
    above = int((times > target_s).sum())
    if n == 0:
        return Window(length_ms=length_ms, n=0, above=0)
    low, high = ranks(n, Q)
    rank = max(1, int(np.ceil(n * Q)))
    wanted = [rank, *([low] if low >= 1 else []), *([high] if high <= n else [])]
    ordered = np.partition(times, [one - 1 for one in wanted])
    return Window(
        length_ms=length_ms,
        n=n,
        p99_ns=float(ordered[rank - 1]) * 1e9,
        lo_ns=float(ordered[low - 1]) * 1e9 if low >= 1 else None,
        hi_ns=float(ordered[high - 1]) * 1e9 if high <= n else None,
        above=above,
    )
