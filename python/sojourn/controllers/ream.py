"""ReAM: the third paper's actions by class of a group (P12), as a fixed policy.

Source: Pons et al., FGCS 2022, actions P12; the paper publishes no rule. A group that does not
scale is confined to two cores. The other actions (pack hyper-threads, ways, memory bandwidth,
disks) have no published levels, or need knobs of services that are not moved. They are not taken.
"""

from __future__ import annotations

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Decision, History, for_all

CONSTANTS = {"cores": 2.0}
CONFINED = "non-scalable"


def decide(history: History) -> Decision:
    """Confine each group whose class asks for it."""
    now, cores = history.now, round(history.constants["cores"])
    groups = {name: group for name, group in now.groups.items() if CONFINED in group.traits}
    cores = min(cores, now.cpus)
    why = f"{CONFINED}: confined to {cores} logical cores (P12)"
    return Decision(changes=tuple(for_all(groups, "cores", level=cores, why=why)))


KIND = ControllerKind(
    name="ream",
    about="confines groups that do not scale to two cores",
    source="Pons et al., FGCS 2022, P12",
    needs=("traits", "cores"),
    on_services=("cores",),
    constants=CONSTANTS,
    decide=decide,
)
