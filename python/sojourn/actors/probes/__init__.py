"""Who watches while a point is measured, in the order of entering: the last frames the load.

Adding one is one file like `host.py` and one line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.actors.kind import ProbeKind
from sojourn.actors.probes import culprits, host, null, resources, trace
from sojourn.kinds import table
from sojourn.questions.blame import probe as blame
from sojourn.questions.isolation_cost import probe as isolation_cost
from sojourn.questions.scheduler_bakeoff import probe as properties

#: Every kind of probe, in the order of entering.
KINDS: Mapping[str, ProbeKind] = table(
    null.KIND,
    trace.KIND,
    culprits.KIND,
    isolation_cost.KIND,
    properties.KIND,
    blame.KIND,
    resources.KIND,
    host.KIND,
)

__all__ = ["KINDS"]
