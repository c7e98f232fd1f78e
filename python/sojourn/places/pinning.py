"""Workers of a service, each on a CPU, in turn where there are fewer (L23)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sojourn.errors import RunFault
from sojourn.places import owner
from sojourn.places.task import Task

_CPU = "see whether a cpuset forbids the CPU: cat /proc/self/status"
_RIGHT = "start the container with --cap-add SYS_NICE, and let its sandbox place threads"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Who is to be pinned.

    Attributes:
        label: of the service, for messages.
        count: how many there are.
        choose: tells them among all its threads, in order; fewer than there are: it cannot.
        crew: who else works for a worker, and goes where it goes.
    """

    label: str
    count: int
    choose: Callable[[Sequence[Task]], tuple[int, ...]]
    crew: Callable[[Sequence[Task]], Mapping[int, tuple[int, ...]]] = lambda _: {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What was pinned: thread to CPU, read back, and the same for people."""

    pins: Mapping[int, int] = field(default_factory=dict)
    text: str


def one_each(workers: Workers, tasks: Sequence[Task], cpus: Sequence[int]) -> Pinned:
    """Put each worker among `tasks` on a CPU; all stay where they are if not all are recognised.

    Raises:
        RunFault: the kernel refuses.
    """
    listed = workers.choose(tasks)
    if len(listed) < workers.count:
        report = f"{len(listed)} of {workers.count} workers can be recognised by name"
        return Pinned(text=f"as a whole to the server's CPUs: {report}")
    pins = dict(put(workers.label, listed, cpus))
    crew = workers.crew(tasks)
    for worker, others in crew.items():
        pins |= put(workers.label, others, (pins[worker],))
    each = f", each with a crew of {len(pins) // len(listed) - 1}" if crew else ""
    return Pinned(
        pins=pins, text=f"{len(listed)} workers{each}, one to a CPU in turn, read back (L23)"
    )


def put(label: str, tids: Sequence[int], cpus: Sequence[int]) -> Mapping[int, int]:
    """Put threads on CPUs in turn; thread to CPU as read back.

    Raises:
        RunFault: the kernel refuses.
    """
    pins = {tid: cpus[n % len(cpus)] for n, tid in enumerate(tids)}
    now = {}
    for tid, cpu in pins.items():
        try:
            owner.place(tid, {cpu})
            now[tid] = min(os.sched_getaffinity(tid))
        except OSError as error:
            raise RunFault(
                f"worker {tid} of {label} cannot be pinned to CPU {cpu}: {error.strerror}",
                at=f"CPUs {cpus}",
                fix=_RIGHT if isinstance(error, PermissionError) else _CPU,
            ) from None
    return now
