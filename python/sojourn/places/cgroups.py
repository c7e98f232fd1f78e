"""Control groups that somebody else makes for the lab: found again by name, removed.

A container's runtime makes groups where it likes: one for each hierarchy of version 1, some in
version 2, some beside the lab's own and some at the top. All bear a name that the lab drew by lot,
so they are looked for by that name everywhere, and are certainly the lab's.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

KINDS_OF_MOUNT = ("cgroup", "cgroup2")
REMOVE_S_MAX = 2.0  # a group whose last process has just ended is busy for a moment


def mounts() -> tuple[Path, ...]:
    """Where hierarchies of control groups are mounted, of version 1 and 2."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[words.index("-") + 1] in KINDS_OF_MOUNT:
            found.append(Path(words[4]))
    return tuple(found)


def named(name: str) -> tuple[Path, ...]:
    """Groups whose name has `name` in it, and those within them; the innermost first."""
    return tuple(
        Path(folder)
        for mount in mounts()
        for folder, _, _ in os.walk(mount, topdown=False)
        if name in folder
    )


def pids(name: str) -> frozenset[int]:
    """Numbers of the processes in these groups."""
    found: set[int] = set()
    for group in named(name):
        with contextlib.suppress(OSError):
            found |= {int(n) for n in (group / "cgroup.procs").read_text(encoding="ascii").split()}
    return frozenset(found)


def remove(name: str) -> bool:
    """Remove these groups, which nobody is in any more; whether none is left."""
    end = time.monotonic() + REMOVE_S_MAX
    while groups := named(name):
        for group in groups:
            with contextlib.suppress(OSError):
                group.rmdir()
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True
