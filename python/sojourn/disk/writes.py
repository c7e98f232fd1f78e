"""What a run keeps in its point's folder, with the fault that a person is shown if it cannot."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from sojourn.disk.spent import check_spent
from sojourn.disk.whole import write_whole
from sojourn.errors import RunFault


def keep_json(path: Path, table: Mapping[str, Any], *, indent: int | None = None) -> None:
    """Write a JSON object, in full or not at all; RunFault if it cannot be written."""
    keep_text(path, json.dumps(table, indent=indent) + "\n")


def keep_text(path: Path, text: str) -> None:
    """Write a text, in full or not at all; RunFault if it cannot be written."""
    keep_whole(path, lambda file: file.write(text.encode()))


def keep_whole(path: Path, fill: Callable[[IO[bytes]], object]) -> None:
    """Have `fill` write a file, in full or not at all; RunFault if it cannot be written."""
    try:
        write_whole(path, fill)
    except OSError as error:
        raise disk_fault(error, path) from None


def disk_fault(error: OSError, path: Path) -> RunFault:
    """What a failed write means to a person."""
    check_spent(error, path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        fix = "free some space, then run the same command again: it resumes"
        return RunFault("the disk is full", at=str(path), fix=fix)
    return RunFault(
        f"cannot write: {error.strerror}",
        at=str(path),
        fix="name a folder that may be written, with --results or TMPDIR",
    )
