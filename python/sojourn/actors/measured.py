"""The measured part of a load: when it was, by its result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn import disk

LOAD = "load.json"


def part_ns(folder: Path) -> tuple[int, int] | None:
    """Its first and last moment, ns since 1970; None without a result.

    Args:
        folder: of the point.
    """
    try:
        table: Mapping[str, Any] = disk.read_json(folder / LOAD)
        began_ns = int(table["started_unix_ns"])
        return began_ns, began_ns + round(float(table["measured_s"]) * 1e9)
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
