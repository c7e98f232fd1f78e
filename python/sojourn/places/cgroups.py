"""Control groups of a container: made where its runtime makes none, found by name, removed.

A container's runtime makes groups where it likes: one for each hierarchy of version 1, some in
version 2, some beside the lab's own and some at the top. All bear a name that the lab drew by lot,
so they are looked for by that name everywhere, and are certainly the lab's. For a runtime that
makes none, the lab makes one at the top of each hierarchy.
"""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Sequence
from pathlib import Path

from sojourn.disk import tables, tree

KINDS_OF_MOUNT = ("cgroup", "cgroup2")
BUDGET = "cpu.rt_runtime_us"
REMOVE_S_MAX = 2.0  # a group whose last process has just ended is busy for a moment


def mounts() -> tuple[Path, ...]:
    """Where hierarchies of control groups are mounted, of version 1 and 2."""
    every = tables.mounts(tables.text(tables.MOUNTS))
    return tuple(Path(mount.point) for mount in every if mount.kind in KINDS_OF_MOUNT)


def make(name: str) -> tuple[Path, ...]:
    """Make a group in every hierarchy that the lab may write to, each with what the top one has.

    Returns:
        Their folders. None in one that is mounted read-only: what runs stays where it is there.

    Raises:
        OSError: none can be made.
    """
    made, refused = [], OSError(errno.ENOENT, "no control groups are mounted")
    for mount in mounts():
        try:
            (mount / name).mkdir(exist_ok=True)
            _inherit(mount, mount / name)
        except OSError as error:
            refused = error
            continue
        made.append(mount / name)
    if not made:
        raise refused
    return tuple(made)


def _inherit(parent: Path, group: Path) -> None:
    """Version 1: a group of the controller cpuset has no CPUs and no memory before it is told."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        of_parent, own = parent / name, group / name
        if of_parent.exists() and own.exists() and not own.read_text(encoding="ascii").strip():
            own.write_text(of_parent.read_text(encoding="ascii"), encoding="ascii")


def named(name: str) -> tuple[Path, ...]:
    """Groups whose name has `name` in it, and those within them; the innermost first."""
    every = [folder for mount in mounts() for folder, _ in tree.walk(mount)]
    return tuple(Path(folder) for folder in reversed(every) if name in folder)


def allow_realtime(name: str, pid: int) -> None:
    """Version 1: let a process in one of these groups have real-time priority, as at the top.

    A group of the controller cpu has no real-time budget when it is made, where the kernel has one
    (`CONFIG_RT_GROUP_SCHED`), so its threads are refused the priority that shields a service on
    bare metal: a container would be compared without. What others have at the top is left to them;
    where nothing is left, the shield says that it was refused.
    """
    for mount in mounts():
        top = mount / BUDGET
        if not top.exists():
            continue
        ours = [group for group in named(name) if group.is_relative_to(mount)]
        with contextlib.suppress(OSError):
            others = sum(_number(g / BUDGET) for g in mount.iterdir() if (g / BUDGET).exists())
            for group in reversed(_above(pid, ours)):
                (group / BUDGET).write_text(str(_number(top) - others), encoding="ascii")


def _above(pid: int, groups: Sequence[Path]) -> list[Path]:
    """Of some groups the one that a process is in and those above it, the innermost first."""
    for group in groups:
        if str(pid) in (group / "cgroup.procs").read_text(encoding="ascii").split():
            return [one for one in (group, *group.parents) if one in groups]
    return []


def _number(path: Path) -> int:
    return int(path.read_text(encoding="ascii"))


def pids(name: str) -> frozenset[int]:
    """Numbers of the processes in these groups."""
    numbers: set[int] = set()
    for group in named(name):
        with contextlib.suppress(OSError):
            numbers |= {
                int(n) for n in (group / "cgroup.procs").read_text(encoding="ascii").split()
            }
    return frozenset(numbers)


def remove(name: str) -> bool:
    """Remove these groups, which no one is in any more; whether none is left."""
    end = time.monotonic() + REMOVE_S_MAX
    while groups := named(name):
        for group in groups:
            with contextlib.suppress(OSError):
                group.rmdir()
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True
