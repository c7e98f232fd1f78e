"""A record that a command takes beside other files: by path, or by name as `sojourn show` does."""

from __future__ import annotations

from pathlib import Path

from sojourn import disk
from sojourn.errors import SpecFault, StoreFault


def record_path(named: Path, results: Path, *, other: str = "") -> Path:
    """`named` itself if it is a file or folder, else the record that has this name.

    Args:
        named: a path, a part of a record's name, or a study.
        results: folder of the records.
        other: what the command takes instead of a record, for the fix.

    Raises:
        SpecFault: there is neither.
    """
    from sojourn import store

    if disk.is_file(named) or disk.is_folder(named):
        return named
    try:
        return store.resolve(results, str(named))
    except StoreFault as fault:
        fix = f"name a record, or give {other}; {fault.fix}" if other else fault.fix
        what = f"there is neither a file nor a record '{named}'"
        raise SpecFault(what, at=fault.at, fix=fix) from None
