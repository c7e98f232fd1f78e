"""Who is in a control group and in all groups below it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from sojourn.disk import tables
from sojourn.disk.tree import walk
from sojourn.host.tree import Tree

LEAF_LINKS = 2  # of a folder without others in it; some file systems do not count, and have 1


def pids(tree: Tree, folder: str) -> tuple[int, ...]:
    """Numbers of the processes in a group and below: a container may make groups of its own.

    Args:
        tree: of the machine.
        folder: of the group, as on the machine.
    """
    numbers: set[int] = set()
    for at in _folders(tree.path(folder)):
        with contextlib.suppress(OSError):
            words = tables.text(at / "cgroup.procs").split()
            numbers.update(int(word) for word in words if word.isdigit())
    return tuple(sorted(numbers))


def _folders(top: Path) -> Iterable[Path]:
    """A group and all below it. Most have none, and a manager asks ten times a second."""
    with contextlib.suppress(OSError):
        if top.stat().st_nlink == LEAF_LINKS:
            return [top]
    return (Path(at) for at, _ in walk(top))
