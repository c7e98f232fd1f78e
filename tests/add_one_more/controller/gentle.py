"""Takes a tenth of the best-effort quota away at each second with a late service."""

from __future__ import annotations

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Decision, History, for_all


def decide(history: History) -> Decision:
    """One step a second at most."""
    slack = history.now.slack(1000)
    if slack is None or slack >= 0 or not history.is_due("at", 1.0):
        return Decision(memory=history.memory)
    groups = history.now.best_effort
    quotas = [group.allocation.quota or history.now.cpus for group in groups.values()]
    level = 0.9 * max(quotas, default=0.0)
    changes = for_all(groups, "quota", level=level, why="a second above the target")
    return Decision(changes=tuple(changes), memory={"at": history.now.t_s})


KIND = ControllerKind(
    name="gentle",
    about="a tenth less for best effort at each late second",
    source="of this lab",
    needs=("tail", "quota"),
    decide=decide,
)
