"""What a manager did, by its audit log: changes in the measured part, and rounds that were late."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sojourn import disk

AUDIT = "manager.audit.jsonl"


def events(folder: Path) -> list[Mapping[str, Any]]:
    """The audit log of a point so far; a line that is not whole is left out."""
    try:
        lines = disk.read_text(folder / AUDIT, most=disk.JSON_BYTES).splitlines()
    except (OSError, ValueError):
        return []
    results: list[Mapping[str, Any]] = []
    for line in lines:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            results.append(event)
    return results


def counted(
    every: Sequence[Mapping[str, Any]], from_s: float | None, seconds: float
) -> dict[str, Any]:
    """Changes in the measured part of a point, by the clock of the audit log.

    >>> change = {"event": "change", "knob": "quota", "after": 0.5}
    >>> times = ("1970-01-01T00:00:01+00:00", "1970-01-01T00:00:03+00:00")
    >>> counted([{**change, "time": time} for time in times], 2.0, 10.0)
    {'changes': 1, 'settled': {'quota': 0.5}, 'seconds': 10.0, 'late_s': 0.0}
    """
    changes = [one for one in every if one.get("event") == "change"]
    begun_s = math.inf if from_s is None else from_s
    now = [one for one in changes if begun_s <= _at_s(one) < begun_s + seconds]
    return {
        "changes": len(now),
        "settled": {str(one.get("knob")): one.get("after") for one in changes},
        "seconds": 0.0 if from_s is None else seconds,
        "late_s": round(sum(_late_s(one, begun_s, begun_s + seconds) for one in every), 3),
    }


def _late_s(event: Mapping[str, Any], from_s: float, to_s: float) -> float:
    """How much of from_s … to_s the manager had no round in, by one line of its log.

    >>> late = {"event": "late", "after_s": 4.0, "time": "1970-01-01T00:00:05+00:00"}
    >>> _late_s(late, 2.0, 10.0), _late_s(late, 0.0, 3.0), _late_s(late, 6.0, 9.0)
    (3.0, 2.0, 0.0)
    """
    if event.get("event") != "late":
        return 0.0
    try:
        after_s = float(event.get("after_s", 0.0))
    except (TypeError, ValueError):
        return 0.0
    at_s = _at_s(event)
    return max(0.0, min(at_s, to_s) - max(at_s - after_s, from_s))


def _at_s(event: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(event.get("time"))).timestamp()
    except ValueError:
        return 0.0
