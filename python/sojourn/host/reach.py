"""Which CPUs this program would be given if it asked for all.

What it may use now is less where a shell was limited (`taskset`), and on machines whose CPUs are
isolated (`isolcpus`): there every program starts on the others. Only a cpuset really keeps it from
a CPU, and the kernel says which when it is asked.
"""

from __future__ import annotations

import contextlib
import os
import threading

from sojourn.host import cgroups
from sojourn.host.tree import Tree


def read(tree: Tree, online: tuple[int, ...]) -> tuple[int, ...]:
    """CPUs of those online that can be had, ascending; a fake is read by its cpuset."""
    if tree.is_live:
        return _asked(online)
    cpuset = cgroups.read(tree).cpuset
    return tuple(cpu for cpu in online if cpu in cpuset) or online


def _asked(online: tuple[int, ...]) -> tuple[int, ...]:
    """Ask, in a thread that ends with it: affinity is a thread's, so nothing else moves."""
    got: list[int] = []

    def ask() -> None:
        with contextlib.suppress(OSError, ValueError):
            os.sched_setaffinity(0, online)
        got.extend(os.sched_getaffinity(0))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return tuple(sorted(got))
