"""Who is in a control group and in all groups below it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from sojourn.disk.tree import walk
from sojourn.host import reading
from sojourn.host.tree import Tree

PROCS_BYTES = 1 << 25  # no group has more: as many processes as a kernel can number (2^22)
LEAF_LINKS = 2  # of a folder without others in it; some file systems do not count, and have 1


def pids(tree: Tree, folder: str) -> tuple[int, ...]:
    """Numbers of the processes in a group and below: a container may make groups of its own.

    Args:
        tree: of the machine.
        folder: of the group, as on the machine.
    """
    numbers: set[int] = set()
    for at in _folders(tree, folder):
        words = (reading.whole(tree, f"{at}/cgroup.procs", PROCS_BYTES) or b"").split()
        numbers.update(int(word) for word in words if word.isdigit())
    return tuple(sorted(numbers - {0}))  # 0: in another namespace of processes


def _folders(tree: Tree, top: str) -> Iterable[str]:
    """A group and all below it. Most have none, and a manager asks ten times a second."""
    with contextlib.suppress(OSError):
        if os.stat(tree.name(top)).st_nlink == LEAF_LINKS:  # noqa: PTH116  # at each look
            return [top]
    path = tree.path(top)
    below = (Path(at).relative_to(path) for at, _ in walk(path))
    return (top if at == Path() else f"{top}/{at}" for at in below)
