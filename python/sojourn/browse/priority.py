"""Runs a program that shows records only where nothing else wants to."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Collection
from pathlib import Path

from sojourn.host.tree import cpu_list

NICEST = 19
SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def step_back() -> None:
    """Put all threads of this process under the policy of idle tasks, as far as the system lets it.

    On a CPU that a measurement uses they run only in the moments that the measurement leaves.
    Threads and programs that are started later have the same policy.
    """
    if not hasattr(os, "SCHED_IDLE"):
        return
    for thread in _threads():
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, NICEST)  # where the policy is refused
        with contextlib.suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))


def keep_off(cpus: Collection[int]) -> None:
    """Keep all threads of this process off some CPUs and their cores, where it has others.

    Args:
        cpus: of a measurement; none: it may run wherever it might at first.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    wanted = others(_allowed(), cpus, {cpu for one in cpus for cpu in _siblings(one)})
    for thread in _threads():
        with contextlib.suppress(OSError):
            if os.sched_getaffinity(thread) != wanted:
                os.sched_setaffinity(thread, wanted)


def others(
    allowed: frozenset[int], cpus: Collection[int], cores: Collection[int]
) -> frozenset[int]:
    """The CPUs left beside a measurement: of other cores, else other CPUs, else all.

    >>> sorted(others(frozenset(range(4)), [0], [0, 1])), [*others(frozenset([0]), [0], [0])]
    ([2, 3], [0])
    """
    return allowed - {*cpus, *cores} or allowed - {*cpus} or allowed


@functools.cache
def _allowed() -> frozenset[int]:
    """Where this process might run when it was first asked."""
    return frozenset(os.sched_getaffinity(0))


@functools.cache
def _siblings(cpu: int) -> tuple[int, ...]:
    """The CPUs of a CPU's core; () where the system does not list them."""
    try:
        return tuple(cpu_list(Path(SIBLINGS.format(cpu)).read_text("ascii")))
    except (OSError, ValueError):
        return ()


def _threads() -> list[int]:
    """Numbers of this process's threads; 0, the calling one, where the system lists none."""
    try:
        return [int(name) for name in os.listdir("/proc/self/task")]  # noqa: PTH208 - the kernel's
    except OSError:
        return [0]
