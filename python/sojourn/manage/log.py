"""A log of lines, each whole or not at all; log rotation may rename its file."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from sojourn import disk


class Log:
    """A file that lines are appended to, by its name: another file may have the name later."""

    def __init__(self, path: Path) -> None:
        """Open it; RunFault if that cannot be."""
        self._path = path
        try:
            self._file = disk.append(path)
        except OSError as error:
            raise disk.disk_fault(error, path) from None

    def write(self, line: bytes) -> None:
        """Append one; RunFault if it cannot be written, and then nothing of it is left."""
        try:
            if not self._has_name():
                before, self._file = self._file, disk.append(self._path)
                disk.shut(before)
            put(self._file.fileno(), line + b"\n")
        except OSError as error:
            raise disk.disk_fault(error, self._path) from None

    def close(self) -> None:
        """Close the file; nothing more is written."""
        disk.shut(self._file)

    def _has_name(self) -> bool:
        own = os.fstat(self._file.fileno())
        try:
            now = os.stat(self._path)  # noqa: PTH116  # at each look
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise
            return False
        return (now.st_dev, now.st_ino) == (own.st_dev, own.st_ino)


def put(handle: int, text: bytes) -> None:
    """Write all of it. Half of a line would spoil the next one, so it is removed again."""
    size, written = os.fstat(handle).st_size, 0
    try:
        while written < len(text):
            written += os.write(handle, text[written:])
    except OSError:
        with contextlib.suppress(OSError):
            if os.fstat(handle).st_size == size + written:  # else somebody else writes it too
                os.ftruncate(handle, size)
        raise
