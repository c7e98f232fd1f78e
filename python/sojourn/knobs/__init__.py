"""What can be turned on a service that runs: read, applied, felt, and put back.

Adding one is one file like `cpuset.py` and one line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sojourn import kinds
from sojourn.knobs.knob import Asked, Felt, Knob, KnobKind, Lack, Offered, Turned

if TYPE_CHECKING:
    from sojourn.knobs import (  # noqa: F401 - for whoever follows imports
        busy_poll,
        core_sched,
        cpu_idle,
        cpu_quota,
        cpu_weight,
        cpuset,
        cstates,
        egress,
        frequency,
        io_limit,
        irq,
        llc_ways,
        memory_bandwidth,
        memory_limit,
        napi,
        null,
        numa,
        policy,
        rps,
        rt_quota,
        smt,
        thp,
    )

#: Every kind of knob, in reading order.
KINDS: Mapping[str, KnobKind] = kinds.late(
    "sojourn.knobs",
    "null",
    "cpuset",
    "cpu_weight",
    "cpu_quota",
    "cpu_idle",
    "rt_quota",
    "policy",
    "core_sched",
    "memory_limit",
    "numa",
    "io_limit",
    "egress",
    "llc_ways",
    "memory_bandwidth",
    "irq",
    "rps",
    "napi",
    "busy_poll",
    "frequency",
    "cstates",
    "smt",
    "thp",
)

__all__ = ["KINDS", "Asked", "Felt", "Knob", "KnobKind", "Lack", "Offered", "Turned", "kind"]


def kind(name: str) -> KnobKind:
    """Find a kind of knob by name.

    Raises:
        SpecFault: there is none of that name.
    """
    return kinds.find(KINDS, name, "knob")
