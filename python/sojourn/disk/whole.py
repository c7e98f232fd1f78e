"""Files that are there in full or not at all, also after a power cut; nothing planted leads away.

What is written is a new file of a random name in an opened folder: it cannot be guessed, so no one
can put a link or a file of their own in its place. It takes its name once it is on the disk, and
is removed where that fails.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

from sojourn.disk.way import folder

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MORE = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MODE = 0o666  # less the umask
_NAME_BYTES = 8


def write_whole(
    path: Path, fill: Callable[[IO[bytes]], object], *, mode: int = _MODE, is_made: bool = False
) -> None:
    """Have `fill` write a new file, bring it to disk, and give it the name `path`.

    Args:
        path: a file of this name is replaced; of a link the name, not what it leads to.
        fill: writes the contents.
        mode: of the file, less the umask.
        is_made: make its folder, if that is one of the lab's own below a record.

    Raises:
        OSError: it cannot be written; what was there before is unchanged.
    """
    part = f".{secrets.token_hex(_NAME_BYTES)}.part"
    with folder(path.parent, is_made=is_made) as place:
        handle = os.open(part, _NEW, mode, dir_fd=place)
        try:
            with os.fdopen(handle, "wb") as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path.name, src_dir_fd=place, dst_dir_fd=place)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=place)
            raise
        os.fsync(place)


def write_text(path: Path, text: str, *, is_made: bool = False) -> None:
    """Write a text (UTF-8) in the same way; OSError if it cannot be written."""
    write_whole(path, lambda file: file.write(text.encode()), is_made=is_made)


def append(path: Path) -> IO[bytes]:
    """Open a log to be written on, which is made if it is not there.

    Raises:
        OSError: it cannot be opened; ELOOP: it is a link; EINVAL: it is no plain file.
    """
    with folder(path.parent) as place:
        handle = os.open(path.name, _MORE, _MODE, dir_fd=place)
    result = os.fstat(handle)
    if not stat.S_ISREG(result.st_mode) or result.st_nlink != 1:
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a plain file of one name", str(path))
    return os.fdopen(handle, "ab")


def shut(file: IO[bytes]) -> None:
    """Close a log of which each line was flushed: what could not be written is known by then."""
    with contextlib.suppress(OSError):
        file.close()
