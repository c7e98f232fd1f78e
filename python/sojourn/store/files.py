"""Files that are there in full or not at all, also after a power cut; a full disk is named."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sojourn import disk
from sojourn.errors import Fault, StoreFault

#: What Python raises at values that no one wrote down.
DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
SPARE_BYTES = 256 * 1024**2  # a long point at high load writes some 100 MB


def write_whole(path: Path, fill: Callable[[IO[bytes]], object]) -> None:
    """Have `fill` write a new file, bring it to disk, and give it the name `path`.

    Raises:
        StoreFault: it cannot be written; what was there before is unchanged.
    """
    with disk_faults(path):
        disk.write_whole(path, fill, is_made=True)


def write_text(path: Path, text: str) -> None:
    """Write a text (UTF-8) in the same way."""
    write_whole(path, lambda file: file.write(text.encode()))


@contextmanager
def disk_faults(path: Path) -> Iterator[None]:
    """Turn what the disk refuses into a StoreFault that says how to go on."""
    try:
        yield
    except OSError as error:
        disk.check_spent(error, path)
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise StoreFault(
            "the disk is full" if is_full else f"cannot write: {error.strerror or error}",
            at=str(path),
            fix="free some space and run the study again: it resumes after the last point"
            if is_full
            else "choose a folder you may write to with --results DIR",
        ) from None


@contextmanager
def readable(path: Path, fix: str) -> Iterator[None]:
    """Turn what a damaged or forged file raises where it is taken apart into a StoreFault.

    A record may have come from anywhere, so any value in it may be of any type.
    """
    try:
        yield
    except Fault:
        raise
    except MemoryError:
        raise disk.no_memory(path) from None
    except (*DAMAGE, OSError) as error:
        what = f"it cannot be read: {type(error).__name__}: {error}"
        raise StoreFault(what, at=str(path), fix=fix) from error


def check_space(folder: Path, *, spare_bytes: int = SPARE_BYTES) -> None:
    """Refuse to begin a point that the disk could not hold."""
    free = shutil.disk_usage(folder).free
    if free < spare_bytes:
        raise StoreFault(
            f"the disk is nearly full: {free / 1e6:.0f} MB free, {spare_bytes / 1e6:.0f} MB needed",
            at=str(folder),
            fix="free some space and run the study again: it resumes after the last point",
        )
