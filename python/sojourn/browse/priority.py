"""Runs a program that shows records only where nothing else wants to."""

from __future__ import annotations

import contextlib
import os


def step_back() -> None:
    """Put all threads of this process under the policy of idle tasks, as far as the system lets it.

    On a CPU that a measurement uses they run only in the moments that the measurement leaves.
    Threads and programs that are started later have the same policy.
    """
    if not hasattr(os, "SCHED_IDLE"):
        return
    for thread in _threads():
        with contextlib.suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))


def _threads() -> list[int]:
    """Numbers of this process's threads; 0, the calling one, where the system lists none."""
    try:
        return [int(name) for name in os.listdir("/proc/self/task")]  # noqa: PTH208 - the kernel's
    except OSError:
        return [0]
