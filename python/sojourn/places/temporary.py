"""Where servers' working folders are made, and what file system that is on.

On many distributions /tmp is in memory: nothing is read from a disk there, and nothing that is let
go of leaves memory.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sojourn.disk import mounts, tables
from sojourn.places import users
from sojourn.places.users import User

PLACES = ("/var/tmp", "/tmp", "/dev/shm")  # noqa: S108  # places to look at, not names of files
#: File systems that are memory, and one with a cache of its own beside the kernel's.
MEMORY = frozenset({"tmpfs", "ramfs", "rootfs", "devtmpfs"})
OWN_CACHE = frozenset({"zfs"})
ON_DISK = "set TMPDIR to a folder on a disk with ext4 or xfs, such as TMPDIR=/var/tmp"


def base(user: User | None) -> Path | None:
    """A folder for temporary files that a server's user can enter; None: there is none.

    Programs that the user cannot reach are copied there, so one that is mounted noexec comes last.

    Args:
        user: whom the server runs as; None: as the lab.
    """
    fit = [
        folder
        for folder in (Path(tempfile.gettempdir()), *map(Path, PLACES))
        if folder.is_dir() and os.access(folder, os.W_OK) and users.may_enter(folder, user)
    ]
    return next(filter(may_run, fit), fit[0] if fit else None)


def may_run(folder: Path) -> bool:
    """Whether programs may be started there; True where that is not known."""
    try:
        return not os.statvfs(folder).f_flag & os.ST_NOEXEC
    except OSError:
        return True


def kind(folder: Path, mountinfo: str | None = None) -> str:
    """The file system that a folder is on, such as "tmpfs"; "" where that is not known.

    Args:
        folder: on this machine.
        mountinfo: text of /proc/self/mountinfo; None: this machine's.
    """
    try:
        text = tables.text(tables.MOUNTS) if mountinfo is None else mountinfo
        mount = mounts.innermost(tables.mounts(text), str(folder.resolve()))
    except OSError:
        return ""
    return mount.kind if mount else ""
