"""What applying each isolation mechanism costs: a file a way of applying, a written table.

Adding one is one file like `egress.py` and one line in `KINDS`, and its name in
`plan.MECHANISMS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.kinds import table
from sojourn.questions.isolation_cost.mechanisms import (
    egress,
    empty,
    files,
    groups,
    restart,
    threads,
)
from sojourn.questions.isolation_cost.mechanisms.mechanism import (
    Mechanism,
    MechanismInputs,
    MechanismKind,
)

#: Every mechanism, in reading order.
KINDS: Mapping[str, MechanismKind] = table(
    empty.KIND,
    threads.CPUSET,
    groups.CPUSET_GROUP,
    groups.CPU_QUOTA,
    groups.CPU_WEIGHT,
    threads.POLICIES,
    groups.MEMORY_LIMIT,
    groups.IO_LIMIT,
    egress.KIND,
    groups.LLC_WAYS,
    groups.MEMORY_BANDWIDTH,
    files.IRQ,
    files.RPS,
    files.FREQUENCY,
    files.CSTATES,
    files.THP,
    restart.RUNC,
    restart.NSPAWN,
    restart.LXC,
    restart.VM,
    restart.VM_RESTORED,
)

__all__ = ["KINDS", "Mechanism", "MechanismInputs", "MechanismKind"]
