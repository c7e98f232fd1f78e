"""The text of a study file, and the table that it holds."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from sojourn import disk
from sojourn.errors import SpecFault

STUDY_BYTES = 1024**2  # of a record's study, which may have come by mail
DEPTH, TOO_DEEP = 32, "tables and lists lie within each other too deep"
DOTS = 20_000_000  # of all lines, times those of the line with most; 8 bytes of memory for each


def read_text(path: Path) -> str:
    """The text of a study file; SpecFault if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")  # editors of Windows put a mark first
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError):
            disk.check_spent(error, path)
        raise SpecFault(
            f"the study cannot be read: {error}", at=str(path), fix="give a readable UTF-8 file"
        ) from None


def read_stored(path: Path) -> str:
    """The study of a record, which somebody else may have sent."""
    try:
        return disk.read_text(path, most=STUDY_BYTES)
    except (OSError, ValueError) as error:
        raise SpecFault(
            f"the study of the record cannot be read: {error}",
            at=str(path),
            fix="ask for the record again where it was measured",
        ) from None


def parse(text: str, path: Path) -> dict[str, Any]:
    """The table of a TOML text; SpecFault if it is none, or nested too deep."""
    try:
        table = {} if _is_dotted(text) else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else TOO_DEEP
        raise SpecFault(
            f"this is not TOML: {why}", at=str(path), fix="fix the line; see https://toml.io"
        ) from None
    if _is_deep(table) or _is_dotted(text):
        raise SpecFault(
            f"this is not a study: {TOO_DEEP}", at=str(path), fix="see `sojourn init` for a study"
        )
    return table


def _is_dotted(text: str) -> bool:
    """Whether keys could have so many parts that to read them takes all memory.

    `tomllib` keeps each beginning of a dotted key: of 100,000 parts (200 kB) that takes 40 GB.
    A key does not go beyond its line, and begins with the parts of its table's.
    """
    dots = [line.count(".") for line in text.split("\n")]
    return sum(dots) * max(dots) > DOTS


def _is_deep(table: object) -> bool:
    """Whether tables and lists lie within each other deeper than any study has them."""
    level: list[Any] = [table]
    for _ in range(DEPTH):
        parts = (one.values() if isinstance(one, dict) else one for one in level)
        level = [inner for part in parts for inner in part if isinstance(inner, dict | list)]
        if not level:
            return False
    return True
