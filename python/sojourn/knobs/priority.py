"""Real-time priority for all threads of a server: given, read back, taken away again.

One class and one priority for all of them, so that among themselves they keep one rule. It is
SCHED_RR: a thread that never blocks gives way to its equals every 100 ms, where under SCHED_FIFO
a worker at its peak would starve the server's own listener and maintenance for good. Where no two
threads of a CPU want to run at once, which is the rule with a worker to a CPU, the two are the
same. The priority is the lowest of the real-time ones: above everything ordinary, below the
kernel's own threads that must not wait (migration, watchdogs, interrupt threads).

Policies are inherited by what a thread starts, but not by what it started a moment before it was
given one, so all of them are listed again until none is found without.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from sojourn.host import rights
from sojourn.host.tree import Tree
from sojourn.places import proc
from sojourn.places.task import Task

POLICY, PRIORITY = 2, 1  # SCHED_RR, which `os` names on Linux only; records are read elsewhere
NAMES = {0: "SCHED_OTHER", 1: "SCHED_FIFO", 2: "SCHED_RR", 3: "SCHED_BATCH", 5: "SCHED_IDLE"}
SYS_NICE = 23  # include/uapi/linux/capability.h: CAP_SYS_NICE
PASSES_MAX = 20  # a server that starts threads faster than they are listed is not finished starting
RT_PRIORITY, RT_POLICY = 37, 38  # fields of /proc/PID/stat after the name, from 0 (proc(5): 40, 41)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """How the kernel orders a thread among others: policy (sched(7)) and real-time priority."""

    policy: int
    priority: int

    @property
    def is_shielded(self) -> bool:
        """Whether it is what `give` gives."""
        return (self.policy, self.priority) == (POLICY, PRIORITY)


class RefusedError(Exception):
    """The kernel does not let the lab give the priority; the text says why, for people."""


def rank(task: Task) -> Rank | None:
    """A thread's rank as /proc shows it, not as it was asked for; None: the thread is gone."""
    try:
        text = Path(f"/proc/{task.pid}/task/{task.tid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return Rank(policy=int(fields[RT_POLICY]), priority=int(fields[RT_PRIORITY]))


def without(leader: int) -> tuple[tuple[Task, Rank], ...]:
    """Threads of a session that do not have the priority, with what they have."""
    seen = ((task, rank(task)) for task in proc.tasks(leader))
    return tuple((task, has) for task, has in seen if has is not None and not has.is_shielded)


def give(leader: int) -> int:
    """Give every thread of a session the priority.

    Returns:
        How many threads have it now, read back.

    Raises:
        RefusedError: it cannot be had; no thread has been changed then, or all were put back.
    """
    changed: list[tuple[Task, Rank]] = []
    for _ in range(PASSES_MAX):
        result = without(leader)
        if not result:
            return len(proc.tasks(leader))
        for task, has in result:
            try:
                os.sched_setscheduler(task.tid, POLICY, os.sched_param(PRIORITY))
            except ProcessLookupError:
                continue
            except OSError as error:
                take(changed)
                raise RefusedError(_why(error)) from None
            changed.append((task, has))
    take(changed)
    raise RefusedError("the server starts threads faster than they can be given the priority")


def take(changed: list[tuple[Task, Rank]]) -> None:
    """Put threads back to the rank they had."""
    for task, had in changed:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(task.tid, had.policy, os.sched_param(had.priority))


def is_allowed() -> bool:
    """Whether the kernel gives the priority here, tried on a thread that ends at once."""
    allowed: list[bool] = []

    def try_it() -> None:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, POLICY, os.sched_param(PRIORITY))
            allowed.append(True)

    thread = threading.Thread(target=try_it, name="priority")
    thread.start()
    thread.join()
    return bool(allowed)


def name(policy: int) -> str:
    """A scheduling policy's name by its number: `SCHED_RR` for 2."""
    return NAMES.get(policy, f"policy {policy}")


def _why(error: OSError) -> str:
    if error.errno == errno.EPERM and not rights.has(Tree(), SYS_NICE):
        return "no right to real-time priority (CAP_SYS_NICE, or ulimit -r of 1 or more)"
    if error.errno == errno.EPERM:
        return (
            "the kernel refuses real-time priority here, as it does in a control group without "
            "real-time budget (cpu.rt_runtime_us)"
        )
    return f"the kernel refuses real-time priority: {error.strerror}"
