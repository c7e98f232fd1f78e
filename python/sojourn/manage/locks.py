"""One manager of a control group: the kernel has a lock on the group's folder."""

from __future__ import annotations

import fcntl
import os

from sojourn.errors import HostFault
from sojourn.host.tree import Tree


def locked(tree: Tree, folder: str, name: str) -> int:
    """Lock a folder until the program ends, or the number that is returned is closed.

    Args:
        tree: of the machine.
        folder: of the control group, as on the machine.
        name: of the group in the configuration, for the fault.

    Raises:
        HostFault: another manager has it.
    """
    handle = os.open(tree.path(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise HostFault(
            f"another manager has the control group {folder}",
            at=f"groups.{name}",
            fix="end that manager first",
        ) from None
    return handle
