"""Folders of any depth: walked and removed without recursion.

A server that writes to its folder, a record that was sent or a user of control groups may nest
folders thousands deep. The library's `walk` and `rmtree` call themselves once for each, and
`rmtree` holds a file open for each, so they end with an error and leave the folder behind.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def walk(top: Path) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Each folder and what is in it, a folder before those in it; what cannot be read is left out.

    Links are not entered. What lies deeper than a path may be long is left out, too.
    """
    left = [os.fspath(top)]
    while left:
        folder = left.pop()
        with contextlib.suppress(OSError):
            with os.scandir(folder) as result:
                entries = [*result]
            yield folder, entries
            left += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]


def remove(path: Path | str, *, dir_fd: int | None = None) -> None:
    """Remove a folder with everything in it; no link is followed.

    What is in a folder of it is moved to its top first, so two folders are open at a time.

    Raises:
        OSError: the first thing that could not be removed; the others are.
    """
    top = os.open(path, FOLDER, dir_fd=dir_fd)
    try:
        _clear(top)
    finally:
        os.close(top)
    os.rmdir(path, dir_fd=dir_fd)


def _clear(top: int) -> None:
    mark, numbers = secrets.token_hex(8), itertools.count()
    stuck: dict[str, OSError] = {}
    while selected := [name for name in _emptied(top, stuck) if name not in stuck]:
        for name in selected:
            try:
                handle = os.open(name, FOLDER, dir_fd=top)
                try:
                    for inner in _emptied(handle, {}):
                        to = f".{mark}-{next(numbers)}"
                        os.rename(inner, to, src_dir_fd=handle, dst_dir_fd=top)
                finally:
                    os.close(handle)
                os.rmdir(name, dir_fd=top)
            except OSError as error:
                stuck[name] = error
    if stuck:
        raise next(iter(stuck.values()))


def _emptied(folder: int, stuck: dict[str, OSError]) -> list[str]:
    """Remove all files of a folder; the names of the folders in it."""
    folders = []
    for name in os.listdir(folder):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            folders.append(name)
            continue
        try:
            os.unlink(name, dir_fd=folder)
        except OSError as error:
            stuck[name] = error
    return folders
