"""Files that are there in full or not at all, also after a power cut; a full disk is named."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sojourn.errors import StoreFault

SPARE_BYTES = 256 * 1024**2  # a long point at high load writes some 100 MB


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Have `write` fill a file beside `path`, bring it to disk, and rename it into place."""
    part = path.with_name(f".{path.name}.part")
    with disk_faults(path):
        write(part)
        _sync(part)
        part.replace(path)
        _sync(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write a text (UTF-8) through a file beside it that then takes its name."""
    write_whole(path, lambda part: _put(part, text))


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def disk_faults(path: Path) -> Iterator[None]:
    """Turn what the disk refuses into a StoreFault that says how to go on."""
    try:
        yield
    except OSError as error:
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise StoreFault(
            "the disk is full" if is_full else f"cannot write: {error.strerror or error}",
            at=str(path),
            fix="free some space and run the study again: it resumes after the last point"
            if is_full
            else "choose a folder you may write to with --results DIR",
        ) from None


def check_space(folder: Path, *, spare_bytes: int = SPARE_BYTES) -> None:
    """Refuse to begin a point that the disk could not hold."""
    free = shutil.disk_usage(folder).free
    if free < spare_bytes:
        raise StoreFault(
            f"the disk is nearly full: {free / 1e6:.0f} MB free, {spare_bytes / 1e6:.0f} MB needed",
            at=str(folder),
            fix="free some space and run the study again: it resumes after the last point",
        )
