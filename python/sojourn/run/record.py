"""Files of a run: each written whole or not at all, so that a reader never sees half of one."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn.errors import RunFault


def write_json(path: Path, table: Mapping[str, Any]) -> None:
    """Write a JSON object through a file beside it that then takes its name.

    Raises:
        RunFault: the disk is full, or cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            json.dump(table, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise disk_fault(error, path) from None


def disk_fault(error: OSError, path: Path) -> RunFault:
    """What a failed write means to a person."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        fix = "free some space, then run the same command again: it resumes"
        return RunFault("the disk is full", at=str(path), fix=fix)
    return RunFault(
        f"cannot write: {error.strerror}",
        at=str(path),
        fix="name a folder that may be written, with --results or TMPDIR",
    )
