"""Folders by open handles: below the folder that the user named, no link is followed.

A person may name a record by a link of their own. What lies inside it may have come by mail, and a
link among that leads where its maker chose. Names are therefore resolved one by one, each in the
folder that was opened before it. The name of a folder that the lab itself writes (`claim`) is no
link either.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
#: Folders that the lab itself makes in a folder that the user names (a record, a campaign).
INSIDE = frozenset({"points", "figures", "campaign-logs"})
_DEPTH = 2  # of a point's folder below its record
_CLAIMED: set[Path] = set()


def claim(path: Path) -> None:
    """From now on follow no link that takes the name of this folder, which the lab writes.

    Whoever owns a folder above a record may put a link in its place while a study runs, and root
    would write where that leads.

    Args:
        path: absolute, as it is named whenever something below it is written.

    Raises:
        OSError: there is none; ELOOP: it is a link.
    """
    os.close(_opened(path, path))
    _CLAIMED.add(path)


@contextmanager
def folder(path: Path, *, is_made: bool = False) -> Iterator[int]:
    """An open handle of a folder, which must not be reached by a link inside of what was named.

    Args:
        path: of the folder.
        is_made: make those of the lab's own folders on the way that are not there.

    Raises:
        OSError: there is none; ELOOP: a link is in the way.
    """
    root, names = split(path)
    handle = _opened(root, path) if root in _CLAIMED else os.open(root, _OPEN)
    try:
        for name in names:
            if is_made:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=handle)
            inner = _opened(name, path, handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _opened(name: str | Path, path: Path, above: int | None = None) -> int:
    """A folder that is no link, opened on the way to `path`; `above`: in which its name is."""
    try:
        return os.open(name, _OPEN | os.O_NOFOLLOW, dir_fd=above)
    except NotADirectoryError:
        result = os.stat(name, dir_fd=above, follow_symlinks=False)
        if stat.S_ISLNK(result.st_mode):
            raise OSError(errno.ELOOP, f"{Path(name).name} is a link", str(path)) from None
        raise


def split(path: Path) -> tuple[Path, tuple[str, ...]]:
    """A folder as what the user named, and the names below it that the lab gives.

    >>> split(Path("results/x/host/r1/points/0001-a"))
    (PosixPath('results/x/host/r1'), ('points', '0001-a'))
    >>> split(Path("results/x/host/r1"))
    (PosixPath('results/x/host/r1'), ())
    """
    every = (path, *path.parents)
    if _CLAIMED and (own := next((way for way in every if way in _CLAIMED), None)):
        return own, path.relative_to(own).parts
    ways = every[:_DEPTH]
    outer = next((way for way in reversed(ways) if way.name in INSIDE), None)
    if outer is None:
        return path, ()
    return outer.parent, path.relative_to(outer.parent).parts


def make_folder(path: Path) -> None:
    """Make a folder that is not there yet, as one of the folder above it.

    Raises:
        OSError: it is there, or cannot be made; ELOOP: a link is in the way.
    """
    with folder(path.parent) as above:
        os.mkdir(path.name, dir_fd=above)


def is_folder(path: Path) -> bool:
    """Whether it is a folder, and not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def is_own(path: Path) -> bool:
    """Whether a folder belongs to the user that this program runs as."""
    try:
        return path.lstat().st_uid == os.geteuid()
    except OSError:
        return False
