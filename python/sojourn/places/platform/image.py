"""The image of a guest's disk: ext4 with the service's working folder."""

from __future__ import annotations

import os
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.places.platform.daemons import Daemons
from sojourn.places.users import User

MKFS = "mke2fs"
ROOM_BYTES = 256 << 20  # beside twice what is in it
STEP_BYTES = 64 << 20
BYTES_MAX = 64 << 30
MAKE_S_MAX = 120.0


def write(at: Path, folder: Path, user: User | None, by: Daemons) -> int:
    """Write an image with a copy of a folder, owners included; returns its bytes.

    Raises:
        HostFault: there is no room, or the folder is too large.
    """
    size = size_of(bytes_in(folder))
    if size > BYTES_MAX:
        raise HostFault(
            f"the working folder would need a disk of {size >> 30} GiB",
            at=str(folder),
            fix=f"give the service fewer data, for a disk of {BYTES_MAX >> 30} GiB at most",
        )
    with at.open("xb") as file:
        file.truncate(size)
    owner = f"root_owner={user.uid}:{user.gid}" if user else "root_owner=0:0"
    tool = programs.find(MKFS, fix="apt install e2fsprogs")
    by.call([tool, "-q", "-F", "-t", "ext4", "-E", owner, "-d", folder, at], MAKE_S_MAX)
    return size


def size_of(content: int) -> int:
    """Size of a disk for so much content.

    >>> size_of(0) >> 20, size_of(100 << 20) >> 20
    (256, 512)
    """
    return -(-(2 * content + ROOM_BYTES) // STEP_BYTES) * STEP_BYTES


def bytes_in(folder: Path) -> int:
    """What the files of a folder take, each in blocks."""
    paths = (Path(at) / name for at, _, names in os.walk(folder) for name in names)
    return sum(-(-path.lstat().st_size // 4096) * 4096 for path in paths)
