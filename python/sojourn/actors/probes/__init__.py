"""Who watches while a point is measured, in the order of entering: the last frames the load.

Adding one is one file like `host.py` and one line in `KINDS`. A question has its own in its folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sojourn.actors.kind import ProbeKind
from sojourn.actors.probes import culprits, host, null, resources, trace
from sojourn.kinds import table

#: Every kind of probe but those of questions, in the order of entering.
KINDS: Mapping[str, ProbeKind] = table(
    null.KIND,
    trace.KIND,
    culprits.KIND,
    resources.KIND,
    host.KIND,
)

__all__ = ["KINDS", "entering"]


def entering(others: Iterable[ProbeKind]) -> tuple[ProbeKind, ...]:
    """Every kind in the order of entering, those of questions among them."""
    return tuple(sorted((*KINDS.values(), *others), key=lambda kind: kind.place))
