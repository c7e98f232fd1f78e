"""What can be turned on a service that runs: read, applied, felt, and put back.

Adding one is one file like `cpuset.py` and one line in `KINDS`.
"""

from __future__ import annotations

from sojourn import kinds
from sojourn.knobs import (
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
from sojourn.knobs.knob import Asked, Felt, Knob, KnobKind, Lack, Offered, Turned

#: Every kind of knob, in reading order.
KINDS = kinds.table(
    null.KIND,
    cpuset.KIND,
    cpu_weight.KIND,
    cpu_quota.KIND,
    cpu_idle.KIND,
    rt_quota.KIND,
    policy.KIND,
    core_sched.KIND,
    memory_limit.KIND,
    numa.KIND,
    io_limit.KIND,
    egress.KIND,
    llc_ways.KIND,
    memory_bandwidth.KIND,
    irq.KIND,
    rps.KIND,
    napi.KIND,
    busy_poll.KIND,
    frequency.KIND,
    cstates.KIND,
    smt.KIND,
    thp.KIND,
)

__all__ = ["KINDS", "Asked", "Felt", "Knob", "KnobKind", "Lack", "Offered", "Turned", "kind"]


def kind(name: str) -> KnobKind:
    """Find a kind of knob by name.

    Raises:
        SpecFault: there is none of that name.
    """
    return kinds.find(KINDS, name, "knob")
