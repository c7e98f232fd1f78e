"""Errors that say nothing of a file: the machine has no more of something, and the file is whole.

Who takes them for damage advises to remove what is sound, or to choose another folder.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path

from sojourn.errors import RunFault

SPENT: Mapping[int | None, tuple[str, str]] = {
    errno.EMFILE: (
        "too many files are open here",
        "allow more, then go on: ulimit -n 65536",
    ),
    errno.ENFILE: ("too many files are open on this machine", "raise sysctl fs.file-max"),
    errno.ENOMEM: ("the kernel has no memory left for it", "end other programs, then go on"),
}


def no_memory(path: Path | str) -> RunFault:
    """What it means that a file takes more memory than there is: it may be forged, or whole."""
    return RunFault(
        "reading it takes more memory than there is",
        at=str(path),
        fix="end other programs, or read it where more memory is free",
    )


def check_spent(error: OSError, path: Path) -> None:
    """Raise a RunFault if `error` is of the machine and not of the file."""
    if error.errno in SPENT:
        what, fix = SPENT[error.errno]
        raise RunFault(what, at=str(path), fix=fix) from None
