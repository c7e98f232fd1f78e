"""Removing records, or only their raw requests. Nothing outside the results folder is touched.

The way to a record is walked folder by folder through open handles, none of which may be a link;
what is removed is named relative to such a handle, the folders that become empty too. So a link
that is put in the way meanwhile leads nowhere. The record's own lock is held: no one goes on with a
study that is being removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sojourn import disk
from sojourn.errors import StoreFault
from sojourn.samples.names import RAW
from sojourn.store import lock
from sojourn.store.listing import sizes
from sojourn.store.named import MANIFEST, POINTS

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
DEPTH = 3  # study, machine, record


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """The open way to a record.

    Attributes:
        names: of the folders of study, machine and record.
        above: handles of the folders in which these names are.
        record: handle of the record's folder.
    """

    names: tuple[str, ...]
    above: tuple[int, ...]
    record: int


def remove(results: Path, path: Path) -> int:
    """Remove a record; returns the bytes that became free.

    Raises:
        StoreFault: it is none of this folder's, is being measured, or cannot be removed.
    """
    size, _ = sizes(path)
    with _held(results, path) as way, _faults(path):
        os.unlink(MANIFEST, dir_fd=way.record)  # from now on it is not a record, however this ends
        disk.tree.remove(way.names[-1], dir_fd=way.above[-1])
        for name, above in reversed([*zip(way.names, way.above, strict=True)][:-1]):
            with contextlib.suppress(OSError):  # another record is in it
                os.rmdir(name, dir_fd=above)
    return size


def drop_raw(results: Path, path: Path) -> int:
    """Remove a record's raw requests; returns the bytes that became free.

    What is lost is the test of independence (M9) when the report is written anew.
    """
    _, size = sizes(path)
    with _held(results, path) as way, _faults(path), _folder(POINTS, way.record) as points:
        for name in os.listdir(points):  # noqa: PTH208 - of an open folder
            if stat.S_ISDIR(os.stat(name, dir_fd=points, follow_symlinks=False).st_mode):
                with _folder(name, points) as point, contextlib.suppress(FileNotFoundError):
                    os.unlink(RAW, dir_fd=point)
    return size


@contextmanager
def _held(results: Path, path: Path) -> Iterator[_Way]:
    """A record of `results`, locked."""
    parts = _parts(results, path)
    with contextlib.ExitStack() as stack:
        handles = [os.open(results, FOLDER & ~os.O_NOFOLLOW)]
        stack.callback(os.close, handles[0])
        try:
            for part in parts:
                handles.append(os.open(part, FOLDER, dir_fd=handles[-1]))
                stack.callback(os.close, handles[-1])
            result = os.stat(MANIFEST, dir_fd=handles[-1], follow_symlinks=False)
        except OSError as error:
            raise _no_record(path, error) from None
        if not stat.S_ISREG(result.st_mode):
            raise _no_record(path, OSError(errno.ELOOP, "its manifest is a link"))
        stack.enter_context(_locked(handles[-1], path))
        yield _Way(names=parts, above=tuple(handles[:-1]), record=handles[-1])


def _parts(results: Path, path: Path) -> tuple[str, ...]:
    try:
        parts = path.absolute().relative_to(results.absolute()).parts
    except ValueError:
        parts = ()
    if len(parts) != DEPTH or ".." in parts:
        raise StoreFault(
            "this is not a record of the results folder",
            at=str(path),
            fix=f"name one of `sojourn ls --results {results}`, or the folder with --results",
        )
    return parts


@contextmanager
def _folder(name: str, above: int) -> Iterator[int]:
    handle = os.open(name, FOLDER, dir_fd=above)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _locked(record: int, path: Path) -> Iterator[None]:
    """The record's lock, if it has one; never through a link."""
    try:
        handle = os.open(lock.NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=record)
    except OSError:  # none, or a link: whoever measures makes a file
        yield
        return
    try:
        if not lock.try_take(handle):
            raise lock.busy(path, "stop it first, or wait for it to end")
        yield
    finally:
        os.close(handle)


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreFault(
            f"it cannot be removed: {error.strerror or error}",
            at=str(error.filename or path),
            fix="see who owns it: measured as root, it is removed as root",
        ) from None


def _no_record(path: Path, error: OSError) -> StoreFault:
    is_link = error.errno in (errno.ELOOP, errno.ENOTDIR)
    why = "a link leads out of the results folder" if is_link else error.strerror
    return StoreFault(
        f"this record is not removed: {why}",
        at=str(path),
        fix="remove the link by hand, if it is in the way" if is_link else "see `sojourn ls`",
    )
