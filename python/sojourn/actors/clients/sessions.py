"""What users of several generators' sessions saw → what all of them saw together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.actors.clients import hdr

Table = Mapping[str, Any]
COUNTS = (
    "begun",
    "under_way",
    "chunks",
    "late_chunks",
    "lost_chunks",
    "stalled_ns",
    "watched",
    "stalled",
)


def merged(parts: Sequence[Table | None]) -> dict[str, Any] | None:
    """Sessions of all processes; None if any has none.

    Stalls of a whole session are those of its chunks, of which every process says how many it has.
    """
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    sums = {name: sum(part[name] for part in known) for name in COUNTS}
    total = max(1, sums["chunks"])
    each = [part["chunks"] for part in known]
    return {
        **sums,
        **{name: hdr.span([part[name] for part in known]) for name in ("play_list_ns", "chunk_ns")},
        "longest_stall_ns": max(part["longest_stall_ns"] for part in known),
        **{
            name: sum(part[name] * n for part, n in zip(known, each, strict=True)) / total
            for name in ("stalls_per_session", "stalled_s_per_session")
        },
    }
