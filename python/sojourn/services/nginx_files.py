"""Files that NGINX serves: what each holds, and whether and how many fit."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Mapping
from pathlib import Path

from sojourn.errors import HostFault
from sojourn.places import temporary, users
from sojourn.services.kind import Allowance
from sojourn.services.params import Value

BLOCK_BYTES = 4096
SHARE = 0.5  # of free memory and disk: the files must stay in the page cache
OFF_DISK = ("is_cold", "directio")  # parameters by which files are read from a disk


def content(number: int, size: int) -> bytes:
    """What file `number` holds: its number, over and over.

    >>> content(7, 8)
    b'7 7 7 7 '
    """
    word = f"{number} ".encode()
    return (word * (size // len(word) + 1))[:size]


def forget(path: Path) -> None:
    """Take a file out of the page cache, which keeps what is not on the disk yet."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


def check(params: Mapping[str, Value | None]) -> None:
    """Refuse to read files from a disk where they are in memory whatever is asked.

    Raises:
        HostFault: the working folder is on such a file system.
    """
    asked = next((name for name in OFF_DISK if params[name]), "")
    folder = temporary.base(users.server_user()) if asked else None
    kind = temporary.kind(folder) if folder else ""
    if kind in temporary.MEMORY | temporary.OWN_CACHE:
        why = "is memory" if kind in temporary.MEMORY else "has a cache of its own"
        raise HostFault(
            f"{asked} needs files on a disk, and {folder} is on {kind}, which {why}",
            at=f"service nginx, {asked}",
            fix=f"{temporary.ON_DISK}; or leave {asked} out",
        )


def room(file_bytes: int, allowance: Allowance) -> tuple[int, str]:
    """How many files fit, and what runs out first."""
    stored, cached = (
        max(1, math.ceil(file_bytes / unit)) * unit for unit in (BLOCK_BYTES, mmap.PAGESIZE)
    )
    limits = [(int(allowance.memory_bytes * SHARE / (cached + 1024)), "memory")]
    if allowance.disk_bytes is not None:
        limits.append((int(allowance.disk_bytes * SHARE / stored), "disk"))
    if allowance.disk_files is not None:
        limits.append((int(allowance.disk_files * SHARE), "inodes"))
    return min(limits)
