"""A root folder for a guest, as one archive that its kernel unpacks into memory (cpio, "newc").

Written here and by no program: owners, modes and devices are what the guest is to have, whoever
the lab is, and an archive of the same files is the same to the byte.

Source: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path
from typing import IO

MAGIC = b"070701"
END = "TRAILER!!!"
BYTES_MAX = (1 << 32) - 1  # of a file: eight digits
ROOT = (0, 0)


class Archive:
    """An archive that is being written; a folder comes before what is in it, by itself."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._count = 0
        self._names: set[str] = set()

    def folder(self, path: str | Path, *, mode: int = 0o755, owner: tuple[int, int] = ROOT) -> None:
        """A folder, and those above it; one that is there already stays as it is."""
        name = self._above(path)
        if name and name not in self._names:
            self._entry(name, stat.S_IFDIR | mode, owner=owner)

    def data(
        self, path: str | Path, data: bytes, *, mode: int = 0o644, owner: tuple[int, int] = ROOT
    ) -> None:
        """A file of these bytes, the first of its name."""
        name = self._above(path)
        if name not in self._names:
            self._entry(name, stat.S_IFREG | mode, size=len(data), owner=owner)
            self._file.write(data)
            self._pad()

    def file(
        self,
        path: str | Path,
        of: Path,
        *,
        mode: int | None = None,
        owner: tuple[int, int] = ROOT,
        follow: bool = True,
    ) -> None:
        """A copy of a file, the first of its name.

        Args:
            path: in the guest.
            of: the file.
            mode: None: its own.
            owner: user and group, by number.
            follow: whether `of` may be a link; it must not where others can put one.

        Raises:
            OSError: it cannot be read, is no plain file, is too large or shrinks meanwhile.
        """
        name = self._above(path)
        if name in self._names:
            return
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
        handle = os.open(of, flags)
        result = os.fstat(handle)
        if not stat.S_ISREG(result.st_mode) or result.st_size > BYTES_MAX:
            os.close(handle)
            raise OSError(errno.EINVAL, "not a plain file of less than 4 GiB", str(of))
        with os.fdopen(handle, "rb") as source:
            retained = stat.S_IMODE(result.st_mode) if mode is None else mode
            self._entry(name, stat.S_IFREG | retained, size=result.st_size, owner=owner)
            before = self._file.tell()
            shutil.copyfileobj(_Limited(source, result.st_size), self._file)
            if self._file.tell() - before != result.st_size:
                raise OSError(errno.EIO, "it shrank while it was copied", str(of))
            self._pad()

    def link(self, path: str | Path, to: str, *, owner: tuple[int, int] = ROOT) -> None:
        """A symbolic link, the first of its name."""
        name = self._above(path)
        if name not in self._names:
            self._entry(name, stat.S_IFLNK | 0o777, size=len(os.fsencode(to)), owner=owner)
            self._file.write(os.fsencode(to))
            self._pad()

    def console(self) -> None:
        """/dev/console, which the kernel opens before anything could make it."""
        self._entry(self._above("dev/console"), stat.S_IFCHR | 0o600, device=(5, 1))

    def end(self) -> int:
        """Write the entry that ends the archive; returns its size, bytes."""
        self._entry(END, 0)
        return self._file.tell()

    def _above(self, path: str | Path) -> str:
        """Its name in the archive, when the folders above it are in there."""
        name = os.path.normpath(str(path)).lstrip("/")
        parent = os.path.dirname(name)  # noqa: PTH120  # a name in the archive, no file of ours
        if parent:
            self.folder(parent)
        return "" if name == "." else name

    def _entry(
        self,
        name: str,
        mode: int,
        *,
        size: int = 0,
        owner: tuple[int, int] = ROOT,
        device: tuple[int, int] = (0, 0),
    ) -> None:
        self._count += 1
        self._names.add(name)
        raw = os.fsencode(name) + b"\0"
        links, time, check, disk = 1, 0, 0, (0, 0)
        fields = (self._count, mode, *owner, links, time, size, *disk, *device, len(raw), check)
        self._file.write(MAGIC + b"".join(b"%08x" % field for field in fields) + raw)
        self._pad()

    def _pad(self) -> None:
        self._file.write(bytes(-self._file.tell() % 4))


class _Limited:
    """As much of a file as it had when it was looked at; it may grow meanwhile."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def read(self, most: int = -1) -> bytes:
        """Up to `most` bytes of what is left."""
        part = self._file.read(self._left if most < 0 else min(most, self._left))
        self._left -= len(part)
        return part
