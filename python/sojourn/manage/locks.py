"""One manager of a control group: the kernel has a lock on the group's folder.

A group that is managed is locked for its manager alone. A process that was named by its number is
moved out of its group. So that group is locked as well, and of each group all those above it,
shared with other managers. So neither a group nor a process has two managers.
"""

from __future__ import annotations

import fcntl
import os
import posixpath
from collections.abc import Iterable, Iterator

from sojourn.errors import HostFault
from sojourn.host.tree import Tree


def locked(tree: Tree, folder: str, name: str, *, is_shared: bool = False) -> int:
    """Lock a folder until the program ends, or the number that is returned is closed.

    Args:
        tree: of the machine.
        folder: of the control group, as on the machine.
        name: of the group in the configuration, for the fault.
        is_shared: others may lock it in the same way.

    Raises:
        HostFault: another manager has it.
        OSError: it is gone.
    """
    handle = os.open(tree.path(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise HostFault(
            f"another manager has the control group {folder}",
            at=f"groups.{name}",
            fix="end that manager first",
        ) from None
    return handle


def with_parents(folders: Iterable[str], mount: str) -> Iterator[str]:
    """Folders and all above them below the mount, each once.

    >>> [*with_parents(["/cg/a/b", "/cg/a"], "/cg")], [*with_parents(["/cg"], "/cg")]
    (['/cg/a/b', '/cg/a'], [])
    """
    seen = set()
    for folder in folders:
        at = folder
        while at.startswith(f"{mount}/") and at not in seen:
            seen.add(at)
            yield at
            at = posixpath.dirname(at)


def above(tree: Tree, folder: str, mount: str) -> Iterator[str]:
    """Folders above one, below the mount, that may be locked: one that is hidden is left out."""
    every = with_parents([posixpath.dirname(folder)], mount)
    return (one for one in every if os.access(tree.path(one), os.R_OK))


def identity(tree: Tree, folder: str) -> tuple[int, int]:
    """Which folder it is: another one may have the name later; (0, 0): there is none."""
    try:
        stat = os.stat(tree.name(folder))  # noqa: PTH116  # at each look
    except OSError:
        return 0, 0
    return stat.st_dev, stat.st_ino
