"""What several generators found of replies and of TLS handshakes → what all found together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Table = Mapping[str, Any]


def merged(parts: Sequence[Table | None]) -> dict[str, Any] | None:
    """Lengths of bodies and checks of their content, over all processes; None if any has none."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    count = sum(part["count"] for part in known)
    total = sum((part["bytes_mean"] or 0.0) * part["count"] for part in known)
    changed = [part["changed"] for part in known]
    rows = [part.get("rows") for part in known]
    example = [part["example"] for part in known if part["example"]]
    return {
        "count": count,
        "bytes_mean": total / count if count else None,
        "bytes_min": _known(min, [part["bytes_min"] for part in known]),
        "bytes_max": _known(max, [part["bytes_max"] for part in known]),
        "rows": None if None in rows else sum(rows),
        "empty": sum(part["empty"] for part in known),
        "changed": None if None in changed else sum(changed),
        "checked": sum(part["checked"] for part in known),
        "checked_every": _known(max, [part["checked_every"] for part in known]),
        "too_long": sum(part["too_long"] for part in known),
        "failed": dict(sum((Counter(part["failed"]) for part in known), Counter())),
        "example": example[0] if example else None,
        "statuses": dict(sum((Counter(part.get("statuses", {})) for part in known), Counter())),
    }


def handshakes(parts: Sequence[Table | None]) -> dict[str, Any] | None:
    """TLS handshakes of all processes; None where there are none."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    count = sum(part["handshakes"] for part in known)
    total_ns = sum(part["mean_ns"] * part["handshakes"] for part in known)
    return {
        **known[0],
        **{key: sum(part[key] for part in known) for key in ("handshakes", "resumed", "failed")},
        "mean_ns": total_ns // count if count else 0,
        "longest_ns": max(part["longest_ns"] for part in known),
    }


def _known(pick: Any, values: Sequence[Any]) -> Any:
    return pick((value for value in values if value is not None), default=None)
