"""Files in a folder that a server's user may write to, opened so that nothing planted leads away.

As root the lab gives a server's working folder to the servers' user, whom other programs may be as
well where that is `nobody`.
Whoever may write there can put a link in place of a log, or of the folder, and root would write
through it or copy what it should not read. So the folder is opened first and no link is followed,
neither for it nor for the file, which must be a plain one with a single name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from sojourn import disk
from sojourn.places.hidden import NOTHING, Hidden

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
COPIED_BYTES = 64 * 1024**2  # of a log: a server may make its file as long as it likes
_PIECE_BYTES = 1024**2
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # a pipe would wait for its peer


def opened(path: Path, flags: int, mode: int = 0o666) -> int:
    """Open a plain file.

    Args:
        path: its folder is what must not be a link; above that the lab trusts the names.
        flags: as of `os.open`.
        mode: of a file that is made, less the umask.

    Returns:
        A descriptor, to be closed by the caller.

    Raises:
        OSError: it cannot be opened; ELOOP, ENOTDIR or EMLINK: there is something else.
    """
    with _folder(path) as folder:
        handle = os.open(path.name, flags | _FILE, mode, dir_fd=folder)
    result = os.fstat(handle)
    if not stat.S_ISREG(result.st_mode) or result.st_nlink != 1:
        os.close(handle)
        raise OSError(errno.EMLINK, "not a plain file with one name", str(path))
    os.set_blocking(handle, True)
    return handle


def write(path: Path, text: str) -> None:
    """Write a file anew, in place of whatever has its name."""
    remove(path)
    handle = opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


def keep(path: Path, to: Path, hidden: Hidden = NOTHING) -> None:
    """Copy a file to the lab's own folder, unless it is empty; OSError if it cannot be had.

    Of one that is longer than `COPIED_BYTES`, both ends are copied with a mark between them.

    Args:
        path: of the file.
        to: where the copy is written.
        hidden: what is left out of it.
    """
    with os.fdopen(opened(path, os.O_RDONLY), "rb") as file:
        if size := os.fstat(file.fileno()).st_size:
            disk.write_whole(to, lambda copy: _copy(file, size, copy, hidden))


def _copy(file: IO[bytes], size: int, to: IO[bytes], hidden: Hidden) -> None:
    if size <= COPIED_BYTES:
        to.write(_copy_part(file, size, to, hidden))
        return
    end, spare = COPIED_BYTES // 2, hidden.spare
    _copy_part(file, end, to, hidden)  # the rest may be the begin of what is hidden
    to.write(f"\n[{size - 2 * (end - spare)} bytes are left out here]\n".encode())
    file.seek(size - end)
    to.write(_copy_part(file, end, to, hidden, skipped=spare))


def _copy_part(
    file: IO[bytes], size: int, to: IO[bytes], hidden: Hidden, *, skipped: int = 0
) -> bytes:
    """Copy the next `size` bytes, or those that there are: it may grow or shrink meanwhile.

    Returns:
        The last `hidden.spare` of them, which are not written yet.
    """
    rest = b""
    while size and (piece := file.read(min(size, _PIECE_BYTES))):
        size -= len(piece)
        text = hidden.without(rest + piece)
        cut = max(0, len(text) - hidden.spare)
        to.write(text[min(skipped, cut) : cut])
        skipped, rest = skipped - min(skipped, cut), text[cut:]
    return rest


def remove(path: Path) -> None:
    """Remove a name, if it is there; what a link leads to stays."""
    with _folder(path) as folder, contextlib.suppress(FileNotFoundError):
        os.unlink(path.name, dir_fd=folder)


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[int]:
    handle = os.open(path.parent, _FOLDER)
    try:
        yield handle
    finally:
        os.close(handle)
