"""Where a neighbour of a disk has its files, with room for those of all copies.

On many distributions /tmp is in memory, which takes direct access since Linux 6.6. There a reader
or writer of a disk would touch none.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sojourn.errors import AbsentFault
from sojourn.places import temporary

OTHERS = ("/var/tmp",)  # noqa: S108  # a place to look at, not the name of a file
FREE_MAX = 0.25  # of the free space, for all files


def usual() -> str:
    """The folder of temporary files, or another that is on a disk; "": there is none."""
    every = (tempfile.gettempdir(), *OTHERS)
    return next((folder for folder in every if _is_fit(folder) and not _memory(folder)), "")


def check(who: str, folder: str, size: int, count: int = 1) -> None:
    """Refuse a folder that cannot take the files of some copies.

    Args:
        who: the neighbour's kind, for messages.
        folder: where they lie.
        size: of each, bytes.
        count: of copies.

    Raises:
        AbsentFault: it is not there, is in memory, or has no room.
    """
    at, fix = f"neighbour {who}, folder = {folder}", "give folder= one on the disk that is meant"
    if not _is_fit(folder):
        what = f"the folder {folder} of neighbour {who} is not there, or cannot be written"
        raise AbsentFault(what, at=at, fix=fix)
    if memory := _memory(folder):
        what = f"the folder {folder} of neighbour {who} is on no disk: {memory} is memory"
        raise AbsentFault(what, at=at, fix=fix)
    stat = os.statvfs(folder)
    most, wanted = int(stat.f_bavail * stat.f_frsize * FREE_MAX), count * size
    if wanted > most:
        files = "a file" if count == 1 else f"{count} files, one a copy,"
        raise AbsentFault(
            f"neighbour {who} wants {wanted >> 20} MiB for {files} and a quarter of the free space "
            f"of {folder} is {most >> 20} MiB",
            at=f"neighbour {who}, size = {size >> 20} MiB",
            fix="give a smaller size=, or another folder=",
        )


def _is_fit(folder: str) -> bool:
    return Path(folder).is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _memory(folder: str) -> str:
    """The kind of file system, if it is one in memory; else ""."""
    kind = temporary.kind(Path(folder))
    return kind if kind in temporary.MEMORY else ""
