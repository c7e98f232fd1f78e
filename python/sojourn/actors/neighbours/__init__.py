"""Who runs beside a service, to see what that does to it.

Adding one is one file like `spin.py` and one line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sojourn import kinds
from sojourn.actors.kind import NamedKind
from sojourn.actors.neighbours.neighbour import Neighbour

if TYPE_CHECKING:
    from sojourn.actors.neighbours import (  # noqa: F401 - for whoever follows imports
        batch,
        fio,
        iperf3,
        noise,
        null,
        rival,
        spin,
        stream,
        stress,
    )

#: Every kind of neighbour, in reading order.
KINDS: Mapping[str, NamedKind] = kinds.late(
    "sojourn.actors.neighbours",
    "null",
    "spin",
    "rival",
    "stream",
    "noise",
    "batch",
    "stress",
    "fio",
    "iperf3",
)

__all__ = ["KINDS", "Neighbour"]
