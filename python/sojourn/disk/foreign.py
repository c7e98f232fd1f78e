"""Files that somebody else may have made: plain ones only, of bounded size and depth.

A link would show what lies elsewhere, a pipe would wait for ever, a large or deep file would take
all memory. None of them is read; what is wrong is raised as OSError or ValueError, and the caller
says what the file was for.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from sojourn.disk.expanded import expanded
from sojourn.disk.spent import check_spent
from sojourn.disk.way import folder

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
JSON_BYTES = 256 * 1024**2  # a result of an hour has some 60 MB, by the windows of its misses
DEPTH = 64  # of lists and objects within each other; the lab's own files have about eight
PARTS = 2_000_000  # lists and objects of one file; each takes 60 bytes of memory or more
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_STRING = re.compile(rb'"[^"]*"')
_BRACKETS = b'[]{}"'
_OTHERS = bytes(sorted(set(range(256)) - set(_BRACKETS)))


def opened(path: Path) -> int:
    """Open a plain file to be read; the caller closes the descriptor.

    Raises:
        OSError: it cannot be opened; ELOOP: a link is in the way; EINVAL: it is no plain file.
        RunFault: this machine opens no more files.
    """
    try:
        with folder(path.parent) as place:
            handle = os.open(path.name, _READ, dir_fd=place)
    except OSError as error:
        check_spent(error, path)
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "a link is in the way", str(path)) from None
        raise
    return _plain(handle, path)


def _plain(handle: int, path: Path) -> int:
    """The descriptor of a plain file; another one is closed, because a pipe might never end."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a plain file", str(path))
    return handle


def is_plain(path: Path) -> bool:
    """Whether there is a plain file of this name, and no link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Whether a name that a person typed is of a plain file, or of a link to one.

    `Path.is_file` raises where a name is too long.
    """
    return os.path.isfile(path)  # noqa: PTH113 - the reason is above


def folders_in(path: Path) -> list[Path]:
    """Folders in a folder, links to folders included; none where it cannot be read.

    `Path.glob` ends with an error at the first entry that is no usual one, such as in /proc.
    """
    try:
        with os.scandir(path) as entries:
            every = [entry.path for entry in entries]
    except OSError:
        return []
    return [Path(one) for one in every if os.path.isdir(one)]  # noqa: PTH112 - as for `is_file`


def real(path: Path) -> Path:
    """A path without links; as it is where they lead round in a circle.

    `Path.resolve` raises there, and no OSError.
    """
    return Path(os.path.realpath(path))


def reader(path: Path, *, most: int, is_named: bool = False) -> IO[bytes]:
    """Open a plain file of at most `most` bytes; one that the user has named may be a link.

    Raises:
        OSError: it cannot be opened.
        ValueError: it is larger.
    """
    return _bounded(_named(path) if is_named else opened(path), most)


def _named(path: Path) -> int:
    try:
        handle = os.open(path, _READ & ~os.O_NOFOLLOW)
    except OSError as error:
        check_spent(error, path)
        raise
    return _plain(handle, path)


def _bounded(handle: int, most: int) -> IO[bytes]:
    """The file of a descriptor; a larger one than `most` bytes is closed."""
    file = os.fdopen(handle, "rb")
    size = os.fstat(handle).st_size
    if size > most:
        file.close()
        raise ValueError(f"it has {size} bytes, at most {most} are read")
    return file


def read_bytes(path: Path, *, most: int) -> bytes:
    """The contents of such a file; OSError and ValueError as `reader` raises them."""
    with reader(path, most=most) as file:
        # as much memory is taken first as is asked for: hundreds of MB for a file of some kB
        size = os.fstat(file.fileno()).st_size
        text = file.read(size + 1)
        if len(text) > size:  # it has no size, as in /proc, or grew meanwhile
            text += file.read(most + 1 - len(text))
    if len(text) > most:  # it grew meanwhile
        raise ValueError(f"it has more than {most} bytes")
    return text


def read_text(path: Path, *, most: int) -> str:
    """The same as text (UTF-8)."""
    return read_bytes(path, most=most).decode()


def read_json(path: Path, *, most: int = JSON_BYTES) -> Any:
    """What a JSON file holds; ValueError if it is none, too large, or too deep."""
    return parsed(read_bytes(path, most=most))


def read_named(path: Path, *, most: int = JSON_BYTES) -> bytes:
    """What a file holds that the user has named: it may be a link or a pipe, and has a bound.

    Raises:
        OSError: it cannot be read.
        RunFault: this machine opens no more files.
        ValueError: it is larger.
    """
    try:
        with path.open("rb") as file:
            text = file.read(most + 1)
    except OSError as error:
        check_spent(error, path)
        raise
    if len(text) > most:
        raise ValueError(f"it has more than {most} bytes")
    return text


def lines_named(path: Path, *, most: int, longest: int, is_cut: bool = False) -> Iterator[bytes]:
    """The lines of such a file, one after the other: only one is in memory.

    A file packed with gzip or Zstandard is expanded as it is read.

    Args:
        path: of the file.
        most: bytes of the file, and of what is packed in it.
        longest: bytes of a line.
        is_cut: a longer line is given in pieces, for a look at the first bytes.

    Raises:
        OSError: it cannot be read, or is no plain file.
        RunFault: this machine opens no more files.
        ValueError: the file is larger than `most`, or a line is longer than `longest` bytes.
        PackedError: it is packed and cannot be expanded, or into far too much.
    """
    with reader(path, most=most, is_named=True) as packed, expanded(packed) as file:
        number = read = 0
        while line := file.readline(longest + 1):
            number, read = number + 1, read + len(line)
            if read > most:  # it grew meanwhile, or is packed
                raise ValueError(f"it has more than {most} bytes")
            if len(line) > longest and not is_cut:
                raise ValueError(f"line {number} is longer than {longest} bytes")
            yield line


def parsed(raw: bytes) -> Any:
    """The value of a JSON text; ValueError if it is none, or too deep."""
    if depth_of(raw) > DEPTH:
        raise ValueError(f"it is deeper than {DEPTH} lists and objects within each other")
    return json.loads(raw)


def depth_of(raw: bytes) -> int:
    r"""How deep lists and objects lie within each other; ValueError if there are too many.

    >>> depth_of(b'{"a[": [[1], "\\"[["]}')
    3
    """
    if raw.count(b"[") + raw.count(b"{") > PARTS:
        raise ValueError(f"it has more than {PARTS} lists and objects")
    plain = _ESCAPED.sub(b"", raw) if b"\\" in raw else raw
    deepest = depth = 0
    for byte in _STRING.sub(b"", plain.translate(None, _OTHERS)):
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest
