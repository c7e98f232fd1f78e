"""What threads did while load ran: time on a CPU, and waits for one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The scheduler's counters of some threads at one moment.

    Attributes:
        at_ns: `CLOCK_MONOTONIC`.
        threads: by thread number: its name, time on a CPU and time in a run queue so far, ns.
        cpus: how many CPUs the threads may use.
        accept_queue: connections that the server had not accepted yet.
        connections: to the server's port that were open.
        overflows: connections that found no room there, of all ports, so far.
    """

    at_ns: int
    threads: dict[int, tuple[str, int, int]]
    cpus: int = 1
    accept_queue: int = 0
    connections: int = 0
    overflows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What they did in a span of time.

    Attributes:
        seconds: that was looked at; 0: nothing was seen.
        cpus: that they may use.
        busiest: name of the thread that wanted a CPU for longest.
        busiest_wants: its time on a CPU or in a run queue, as a share of the time.
        wants: the same of all threads, as a share of the time of all their CPUs.
        runs: the part of it on a CPU.
        waits: share of the wanted time in run queues.
    """

    seconds: float = 0.0
    cpus: int = 1
    busiest: str = ""
    busiest_wants: float = 0.0
    wants: float = 0.0
    runs: float = 0.0
    waits: float = 0.0


def thinned(samples: Sequence[Sample]) -> list[Sample]:
    """Half as many samples: the first one, and of each two others the later one.

    The longest accept queue of both stays.
    """
    others = samples[1:]
    pairs = zip(others[::2], others[1::2], strict=False)
    results = [
        replace(after, accept_queue=max(before.accept_queue, after.accept_queue))
        for before, after in pairs
    ]
    return [*samples[:1], *results, *others[len(others) // 2 * 2 :]]


def usage(samples: Sequence[Sample], begin_ns: int, end_ns: int) -> Usage:
    """The sum over the samples between two moments.

    A thread that began or ended between two samples counts as far as they saw it. One that a look
    missed counts from the look before. What a thread had when it was seen first may be of all its
    life, and no thread wants more than the time.
    """
    ran: dict[int, int] = {}
    waited: dict[int, int] = {}
    names: dict[int, str] = {}
    seconds, cpus = 0.0, 1
    seen: dict[int, tuple[int, int]] = {}
    for before, after in itertools.pairwise(samples):
        seen |= {tid: (run_ns, wait_ns) for tid, (_, run_ns, wait_ns) in before.threads.items()}
        if before.at_ns < begin_ns or after.at_ns > end_ns:
            continue
        span_ns = after.at_ns - before.at_ns
        seconds += span_ns / 1e9
        cpus = max(cpus, after.cpus)
        for tid, (name, run_ns, wait_ns) in after.threads.items():
            run_before, wait_before = seen.get(tid, (0, 0))
            names[tid] = name
            ran_ns = min(max(0, run_ns - run_before), span_ns)
            ran[tid] = ran.get(tid, 0) + ran_ns
            waited_ns = min(max(0, wait_ns - wait_before), span_ns - ran_ns)
            waited[tid] = waited.get(tid, 0) + waited_ns
    if not ran or seconds <= 0:
        return Usage(cpus=cpus)
    busiest = max(ran, key=lambda tid: ran[tid] + waited[tid])
    wanted = sum(ran.values()) + sum(waited.values())
    return Usage(
        seconds=seconds,
        cpus=cpus,
        busiest=names[busiest],
        busiest_wants=(ran[busiest] + waited[busiest]) / 1e9 / seconds,
        wants=wanted / 1e9 / seconds / cpus,
        runs=sum(ran.values()) / 1e9 / seconds / cpus,
        waits=sum(waited.values()) / wanted if wanted else 0.0,
    )
