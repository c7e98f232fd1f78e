"""Who runs beside a service, to see what that does to it.

Adding one is one file like `spin.py` and one line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.actors.kind import NamedKind
from sojourn.actors.neighbours import (
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
from sojourn.actors.neighbours.neighbour import Neighbour
from sojourn.kinds import table

#: Every kind of neighbour, in reading order.
KINDS: Mapping[str, NamedKind] = table(
    null.KIND,
    spin.KIND,
    rival.KIND,
    stream.KIND,
    noise.KIND,
    batch.KIND,
    stress.KIND,
    fio.KIND,
    iperf3.KIND,
)

__all__ = ["KINDS", "Neighbour"]
