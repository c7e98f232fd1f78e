"""A JSON file of the lab: read whole, its version checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn import disk, extras
from sojourn.errors import StoreFault

DIGITS_MAX = 10  # of a version
OF_POINT = "remove this point's folder and run the study again: it resumes there"


def read_json(path: Path, *, fix: str = OF_POINT) -> Mapping[str, Any]:
    """One JSON object from a file of the lab.

    Args:
        path: of the file.
        fix: what to do where it cannot be read; the default speaks of a point's own file.

    Raises:
        StoreFault: it is not there, no plain file, too large, too deep, or no object.
    """
    try:
        table = disk.read_json(path)
    except OSError as error:
        raise StoreFault(f"cannot read: {error.strerror}", at=str(path), fix=fix) from None
    except ValueError as error:
        raise StoreFault(f"the file is damaged: {error}", at=str(path), fix=fix) from None
    if not isinstance(table, dict):
        raise StoreFault("the file is damaged: no JSON object", at=str(path), fix=fix)
    return table


def check_version(
    table: Mapping[str, Any], form: str, major: int, *, at: Path, oldest: int | None = None
) -> None:
    """Refuse what is no `form`, what is newer than `major`, and what is older than `oldest`.

    Without `oldest` no version but `major` is read.
    """
    name, _, version = str(table.get("schema", "")).partition("/")
    number = version.partition(".")[0]
    if name != form or not (number.isdecimal() and len(number) < DIGITS_MAX):
        raise StoreFault(
            f"this is '{table.get('schema', 'a file without a schema')}', not '{form}/{major}'",
            at=str(at),
            fix="give a file or folder that this lab wrote",
        )
    if not (major if oldest is None else oldest) <= int(number) <= major:
        age = "newer" if int(number) > major else "older"
        raise StoreFault(
            f"the file has version {version} of {form}, this program reads {major}",
            at=str(at),
            fix=extras.UPDATE
            if age == "newer"
            else "read it with the release that wrote it, or measure again",
        )
