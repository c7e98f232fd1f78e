"""What a command that reads records may do: a record may come from anywhere, and root reads it.

Before the first file of a record is opened, root gives up the rights that reading does not need. To
read records of others it becomes a user that no account has. To write a report it becomes the owner
of the folder. In both cases it keeps the right to read all files. For root's own records it stays
user 0 without any other right. Programs that it starts get no further rights.

Memory is bounded by what the machine and its control group have free. A forged file then is a
fault in words, and the kernel does not end other programs because of it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from pathlib import Path

from sojourn.errors import HostFault

CAP_DAC_READ_SEARCH = 2  # include/uapi/linux/capability.h
SHARE, LEAST_BYTES = 0.5, 512 * 1024**2  # of what is free, and what each command may take


class Process:
    """Whether this process is a command's alone; tests and scripts call commands in theirs."""

    is_own = False


def for_reading(folder: Path) -> None:
    """Before the records below a folder are read: nothing is written but summaries of own ones."""
    _lower(folder, is_written=False)


def for_writing(folder: Path) -> None:
    """The same, before a report is written into a folder."""
    _lower(folder, is_written=True)


def _lower(folder: Path, *, is_written: bool) -> None:
    if not Process.is_own:
        return
    _bound_memory()
    if sys.platform != "linux" or os.geteuid() != 0:
        return  # there are no rights to give up, or none of Linux's kind
    from sojourn.disk import cache
    from sojourn.places import users, warden  # loads much; help needs none of it

    with contextlib.suppress(OSError, HostFault):  # where it is refused, it stays as it was
        result = folder.stat()
        who = (result.st_uid, result.st_gid)
        if result.st_uid != 0 and not is_written:
            user = users.beside_user()
            who = (user.uid, user.gid) if user else who
        if who[0] != 0:
            cache.Use.is_on = False  # root believes nothing that another user computed
        warden.become_user(*who, [CAP_DAC_READ_SEARCH])


def _bound_memory() -> None:
    from sojourn.host import cgroups, memory, tree

    here = tree.Tree()
    text = memory.read(here, cgroups.read(here))
    if not text.total_bytes:
        return  # there is no /proc/meminfo
    most = max(LEAST_BYTES, int(SHARE * text.free_bytes))
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft > most:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
