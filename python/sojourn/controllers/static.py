"""One allocation of best-effort groups, set once: a line of configuration.

With the levels that a search has found, this is the *oracle*: the best fixed allocation. A weight
does nothing to a group that is idle, and the kernel refuses it (EINVAL), so it is left out there.
"""

from __future__ import annotations

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Decision, History, for_all

CONSTANTS = {
    "idle": 0.0,
    "weight": 100.0,
    "quota": 0.0,
    "cores": -1.0,
    "memory": 0.0,
    "io": 0.0,
    "frozen": 0.0,
}


def decide(history: History) -> Decision:
    """Set what was given, at the first look; 0 (cores: −1) leaves a knob alone."""
    if history.memory:
        return Decision(memory=history.memory)
    constants, groups = history.constants, history.now.best_effort
    why = "fixed by the configuration"
    is_idle = bool(constants["idle"])
    weighed = {n: g for n, g in groups.items() if not (is_idle or g.allocation.idle)}
    changes = [
        *(for_all(groups, "idle", level=True, why=why) if is_idle else []),
        *(for_all(weighed, "weight", level=round(constants["weight"]), why=why)),
        *(
            for_all(groups, "quota", level=constants["quota"], why=why)
            if constants["quota"]
            else []
        ),
        *(
            for_all(groups, "cores", level=round(constants["cores"]), why=why)
            if constants["cores"] >= 0
            else []
        ),
        *(
            for_all(groups, "memory", level=constants["memory"], why=why)
            if constants["memory"]
            else []
        ),
        *(for_all(groups, "io", level=constants["io"], why=why) if constants["io"] else []),
        *(for_all(groups, "frozen", level=True, why=why) if constants["frozen"] else []),
    ]
    return Decision(changes=tuple(changes), memory={"set": True})


KIND = ControllerKind(
    name="static",
    about="one fixed allocation: idle = 1, weight, quota (CPUs), cores, memory, io or frozen = 1",
    source="of this lab",
    constants=CONSTANTS,
    decide=decide,
)
