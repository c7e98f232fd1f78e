"""Caladan's signal: what still waits at the second look means one core more.

Source: Fried et al., "Caladan", OSDI 2020 (Apache-2.0), from memory. There the scheduler looks
every 10 µs, inside the service's run time, and cores are given back when the service has nothing to
do. Here only the signal is used, at each look: the run-queue delay of the service's threads. The
bound of 0.1 ms and the return of a core after 50 calm looks are this lab's.
"""

from __future__ import annotations

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Decision, History, for_all

CONSTANTS = {"bound_ms": 0.1, "calm_looks": 50.0}


def decide(history: History) -> Decision:
    """Two looks with a delay take a core; fifty without give one back."""
    now, c = history.now, history.constants
    delays = [group.signal("runq_delay_ms") for group in now.critical.values()]
    if not delays or None in delays:
        return Decision(memory=history.memory)
    delay = max(one or 0.0 for one in delays)
    is_late = delay >= c["bound_ms"]
    calm = 0 if is_late else int(history.memory.get("calm", 0)) + 1
    memory = {"was_late": is_late, "calm": calm}
    cores = _cores(history)
    if is_late and history.memory.get("was_late") and cores > 0:
        why = f"run-queue delay {delay:.2f} ms ≥ {c['bound_ms']:g} ms twice: one core less"
        changes = for_all(now.best_effort, "cores", level=cores - 1, why=why)
        return Decision(changes=tuple(changes), memory={**memory, "was_late": False})
    if calm >= c["calm_looks"] and cores < now.cpus - 1:
        why = f"{calm} looks without delay: one core more"
        changes = for_all(now.best_effort, "cores", level=cores + 1, why=why)
        return Decision(changes=tuple(changes), memory={**memory, "calm": 0})
    return Decision(memory=memory)


def _cores(history: History) -> int:
    cpus = history.now.cpus
    results = [group.allocation.cores for group in history.now.best_effort.values()]
    return max((cpus if one is None else one for one in results), default=0)


KIND = ControllerKind(
    name="caladan",
    about="one best-effort core less when the service's threads wait at two looks",
    source="Fried et al., OSDI 2020 (from memory): the signal only",
    needs=("runq_delay", "cores"),
    constants=CONSTANTS,
    decide=decide,
)
