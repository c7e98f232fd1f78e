"""The machine without single requests: a week of 24 cores takes minutes.

`Machine` simulates each request. Here the numbers of a look are drawn from theory:

- *Waiting.* M/M/n at the load of the moment, up to 97 % of the capacity. What arrives above the
  capacity is a backlog, and later requests wait until that is served.
- *Slices.* A request that is dispatched to a core which the job holds waits for up to 3 ms.
- *A limit of the service.* The CPU time that it wants in a period is normal; what exceeds the
  limit waits for the next period.

Arrivals and chance are the same for every controller.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from sojourn.controllers.look import Allocation, Change, Look
from sojourn.models.league.drawn import TIMES_S, Sum, Tail, erlang_c, late
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

STEADY = 0.97  # of the capacity: above, the waiting times of theory take longer than a look
LENGTHS_MS = (100, 1000, 15_000)
LOAD_MS = 1000  # the window that the signal "load" is of
MIDDLES = (1 / 6, 1 / 2, 5 / 6)  # of a time that is uniform
QUARTERS = (1 / 8, 3 / 8, 5 / 8, 7 / 8)  # of a look with a backlog
#: A share of requests, and what they wait besides, s.
Waits = list[tuple[float, float]]


@dataclass
class Fluid:
    """It lives from look to look.

    Attributes:
        every_s: time between two looks; the newest window is 100 ms long all the same.
        late, done: requests later than the target, and all, by second.
        job_s: CPU time that the job had, s.
    """

    shape: Shape
    seed: int
    every_s: float = PERIOD_S
    now: dict[str, Allocation] = field(
        default_factory=lambda: {WEB: Allocation(), BATCH: Allocation()}
    )
    late: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    job_s: float = 0.0
    _looks: int = 0
    _job: float = 0.0
    _backlog: float = 0.0
    _key: tuple[object, ...] = ()
    _tail: Tail = field(default_factory=lambda: Tail(np.zeros(len(TIMES_S)), 0.0))

    def __post_init__(self) -> None:
        """Its own random numbers, so that every controller sees the same arrivals."""
        self._draw = np.random.default_rng(self.seed)
        self._parts = [PERIOD_S]  # of a look, the newest last
        if self.every_s > PERIOD_S:
            self._parts = [self.every_s - PERIOD_S, PERIOD_S]
        self._sums = [Sum(length_ms, self.shape.target_s) for length_ms in LENGTHS_MS]
        self._times = np.append(TIMES_S, self.shape.target_s)

    def add_window(self, length_ms: int) -> None:
        """Looks have a window of this length too, in the order of lengths; before the first one."""
        if all(one.length_ms != length_ms for one in self._sums):
            self._sums.append(Sum(length_ms, self.shape.target_s))
            self._sums.sort(key=lambda one: one.length_ms)

    def apply(self, changes: tuple[Change, ...]) -> None:
        """Levels are in force at once."""
        for change in changes:
            before = self.now[change.group]
            self.now[change.group] = before.model_copy(update={change.knob: change.level})

    def period(self, moment: Moment) -> Look:
        """Simulate the time until the next look, and see what there is to see."""
        rate = moment.load * self.shape.peak_rps
        counts = [int(self._draw.poisson(rate * part)) for part in self._parts]
        own, shared, held = sharing(self.shape, self.now, moment.wants)
        slowed = 1 + MEMORY * moment.memory * self._job / self.shape.cores
        size_s = self.shape.service_s * slowed * moment.slows
        waits = min(1.0, held * shared / max(1, own))
        limit = self.now[WEB].quota
        cpus = float(own) if limit is None else min(float(own), limit)
        held_s = size_s + waits * SLICE_S / 2  # a core, by a request
        # Requests/s. Who waits for the job's slice holds a core, and uses no CPU time.
        capacity = min(own / held_s, cpus / size_s)
        before = self._backlog
        served_most = capacity * max(0.0, self.every_s - moment.down_s)
        self._backlog = max(0.0, before + sum(counts) - served_most)
        throttled, postponed = _throttled(rate, size_s, limit)
        if limit is not None and self._backlog:
            throttled = 1.0
        extra = [_share(waits, SLICE_S), postponed]
        if before or self._backlog or moment.down_s:
            grew = sum(counts) - served_most
            extra.append(_behind(before, grew, capacity, moment.down_s, self.every_s))
        key = (own, size_s, rate, own / held_s, extra)
        if key != self._key:
            self._key, self._tail = key, self._tail_of(*key)
        self._count(counts)
        arrived = rate * self.every_s if limit is None else sum(counts)
        done = arrived + before - self._backlog
        used = min(cpus, max(0.0, done) / self.every_s * size_s)
        job = job_cpus(
            self.shape, self.now[BATCH], used=used, own=own, shared=shared, wants=moment.wants
        )
        self._job = round(job, 3)
        self.job_s += job * self.every_s
        return self._look(used, waits, throttled * self.every_s / PERIOD_S)

    def _tail_of(
        self, own: int, size_s: float, rate: float, capacity: float, extra: list[Waits]
    ) -> Tail:
        """Shares of requests that take longer than `TIMES_S`, and than the target."""
        steady = min(rate, STEADY * capacity)
        wait_rate, serve_rate = capacity - steady, 1 / size_s
        if abs(wait_rate / serve_rate - 1) < 1e-6:
            wait_rate *= 1 + 1e-5
        waiting = erlang_c(own, round(own * steady / capacity, 4))
        combined = [
            (math.prod(share for share, _ in one), sum(more for _, more in one))
            for one in itertools.product(*extra)
        ]
        shares, more = (np.array(column)[:, None] for column in zip(*combined, strict=True))
        left = np.maximum(self._times - more, 0.0)
        serve, wait = np.exp(-serve_rate * left), np.exp(-wait_rate * left)
        both = (wait_rate * serve - serve_rate * wait) / (wait_rate - serve_rate)
        tails = (1 - waiting) * serve + waiting * both
        result = (shares * tails).sum(axis=0)
        return Tail(result[:-1], float(result[-1]))

    def _count(self, counts: list[int]) -> None:
        lucks = self._draw.standard_normal(len(counts)).tolist()
        second = int(self._looks * self.every_s + 1e-9)
        self._looks += 1
        total = late_total = 0
        for length_s, n, luck in zip(self._parts, counts, lucks, strict=True):
            above = late(n, self._tail.late, luck)
            total, late_total = total + n, late_total + above
            for one in self._sums:
                one.add((length_s, n, above, self._tail, luck))
        seconds = max(1, round(self.every_s))  # a longer look has the same in each of them
        while len(self.done) < second + seconds:
            self.done.append(0)
            self.late.append(0)
        for i in range(seconds):
            self.done[second + i] += _part_of(total, i, seconds)
            self.late[second + i] += _part_of(late_total, i, seconds)

    def _look(self, used: float, waits: float, throttled: float) -> Look:
        second = next(one for one in self._sums if one.length_ms == LOAD_MS)
        web = {
            "cpu": used,
            "load": second.n / second.covered_s / self.shape.peak_rps,
            "runq_delay_ms": waits * SLICE_S / 2 * 1e3,
            "throttled": throttled,
        }
        windows = tuple(one for each in self._sums if (one := each.window()) is not None)
        return seen(
            self.shape, self.now, self._looks * self.every_s, windows, web=web, job=self._job
        )


def _part_of(total: int, i: int, parts: int) -> int:
    """What part `i` of a number has, if it is parted as evenly as whole numbers can be.

    >>> [_part_of(7, i, 3) for i in range(3)]
    [2, 2, 3]
    """
    return (i + 1) * total // parts - i * total // parts


def _share(share: float, most_s: float) -> Waits:
    """So many requests wait for a uniform time of at most so long; the others do not."""
    if share <= 0:
        return [(1.0, 0.0)]
    return [(1 - share, 0.0), *((share / 3, middle * most_s) for middle in MIDDLES)]


def _behind(before: float, grew: float, capacity: float, down_s: float, every_s: float) -> Waits:
    """What requests wait for a backlog that grew so much, and for a service that is down."""
    return [
        (0.25, max(0.0, before + grew * at) / capacity + max(0.0, down_s - at * every_s))
        for at in QUARTERS
    ]


def _throttled(rate: float, size_s: float, limit: float | None) -> tuple[float, Waits]:
    """Share of periods in which the limit holds the service up, and who waits for the next one."""
    wants_s = rate * size_s * PERIOD_S
    if limit is None or wants_s <= 0:
        return 0.0, [(1.0, 0.0)]
    has_s, spread_s = limit * PERIOD_S, size_s * math.sqrt(2 * rate * PERIOD_S)
    far = (has_s - wants_s) / spread_s
    chance = 0.5 * math.erfc(far / math.sqrt(2))
    if chance < 1e-9:
        return 0.0, [(1.0, 0.0)]
    density = math.exp(-far * far / 2) / math.sqrt(2 * math.pi)
    over_s = spread_s * (density - far * chance)
    mean_s = wants_s + spread_s * density / chance  # of the periods that exceed it
    return chance, _share(min(1.0, over_s / wants_s), PERIOD_S * max(0.0, 1 - has_s / mean_s))
