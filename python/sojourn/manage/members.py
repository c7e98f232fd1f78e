"""Who is in a control group and in all groups below it."""

from __future__ import annotations

import contextlib
from pathlib import Path

from sojourn.disk import tables
from sojourn.disk.tree import walk
from sojourn.host.tree import Tree


def pids(tree: Tree, folder: str) -> tuple[int, ...]:
    """Numbers of the processes in a group and below: a container may make groups of its own.

    Args:
        tree: of the machine.
        folder: of the group, as on the machine.
    """
    numbers: set[int] = set()
    for at, _ in walk(tree.path(folder)):
        with contextlib.suppress(OSError):
            words = tables.text(Path(at, "cgroup.procs")).split()
            numbers.update(int(word) for word in words if word.isdigit())
    return tuple(sorted(numbers))
