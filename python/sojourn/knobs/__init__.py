"""What can be turned on a service that runs: read, applied, felt, and put back.

Adding one is one file like `cpuset.py` and one line in `KINDS`.
"""

from __future__ import annotations

from sojourn import kinds
from sojourn.knobs import cpuset, null
from sojourn.knobs.knob import Felt, Knob, KnobKind, Turned

#: Every kind of knob, in reading order.
KINDS = kinds.table(
    null.KIND,
    cpuset.KIND,
)

__all__ = ["KINDS", "Felt", "Knob", "KnobKind", "Turned", "kind"]


def kind(name: str) -> KnobKind:
    """Find a kind of knob by name.

    Raises:
        SpecFault: there is none of that name.
    """
    return kinds.find(KINDS, name, "knob")
