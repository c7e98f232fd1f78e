"""Captain of Autothrottle: the service's own limit follows throttled periods.

Source: Wang et al., "Autothrottle", NSDI 2024; microsoft/autothrottle, worker-daemon.py (MIT),
class CaptainScaler, read; written anew. There a *Tower* sets `target` each minute by a bandit; here
it is a constant. A start limit of 1 CPU is as there. That best-effort groups get what the services'
limits leave is this lab's addition: the original has no best-effort work.
"""

from __future__ import annotations

import statistics
from typing import Any

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Change, Decision, Group, History, for_all

CONSTANTS = {
    "sample_s": 0.1,
    "every_s": 1.0,
    "target": 0.1,  # share of periods that may be throttled
    "start_cpus": 1.0,
    "margin": 3.0,  # at first
    "down_to": 0.5,  # at most by half
    "down_from": 0.9,  # only if it is at least so much less
    "least_cpus": 0.01,
}
SAMPLES, USES = 10, 50


def decide(history: History) -> Decision:
    """Each service by itself; then the rest for best-effort groups."""
    now, c, memory = history.now, history.constants, dict(history.memory)
    if not history.is_due("sample", c["sample_s"]):
        return Decision(memory=memory)
    memory["sample"] = now.t_s
    changes: list[Change] = []
    limits = 0.0
    for name, group in now.critical.items():
        if group.signal("throttled") is None or group.signal("cpu") is None:
            return Decision(memory=history.memory)
        before = dict(memory.get(name) or _start(c, now.t_s))
        state, why = _captain(before, group, now.t_s, _periods(history), c)
        memory[name] = state
        limits += float(state["limit"])
        changes += for_all({name: group}, "quota", level=round(float(state["limit"]), 4), why=why)
    if changes:
        left = round(max(c["least_cpus"], now.cpus - limits), 4)
        changes += for_all(
            now.best_effort, "quota", level=left, why="what the services' limits leave"
        )
    return Decision(changes=tuple(changes), memory=memory)


def _start(c: Any, t_s: float) -> dict[str, Any]:
    limit = c["start_cpus"]
    return {
        "limit": limit,
        "last": limit,
        "throttled": [0.0] * SAMPLES,
        "uses": [0.0] * USES,
        "margin": c["margin"],
        "was_down": False,
        "at": t_s,
    }


def _periods(history: History) -> int:
    """How many samples this look replaces: a manager may look less often than each 100 ms."""
    if len(history.looks) < 2:  # the one before
        return 1
    since_s = history.now.t_s - history.looks[-2].t_s
    return min(USES, max(1, round(since_s / history.constants["sample_s"])))


def _captain(
    state: dict[str, Any], group: Group, t_s: float, periods: int, c: Any
) -> tuple[dict[str, Any], str]:
    """The samples of one look; every second one decision. The state and the reason."""
    throttled, used = (group.signal("throttled") or 0.0) / periods, group.signal("cpu") or 0.0
    state["throttled"] = [*state["throttled"], *[throttled] * periods][-SAMPLES:]
    state["uses"] = [*state["uses"], *[used] * periods][-USES:]
    rate, target = statistics.mean(state["throttled"]), c["target"]
    why = f"throttled in {rate:.0%} of periods"
    if rate > 3 * target and state["was_down"]:  # the last step down was wrong
        state["limit"] = 2 * state["last"] - state["limit"]
        state["margin"] += rate - target
        state["throttled"], state["was_down"] = [0.0] * SAMPLES, False
        why += f" > {3 * target:.0%} after a step down: undone"
    if t_s < state["at"] + c["every_s"] - 1e-4:
        return state, why
    state["last"], state["was_down"] = state["limit"], False
    rate = statistics.mean(state["throttled"])
    state["margin"] = max(0.0, state["margin"] + rate - target)
    if rate > 3 * target:
        state["limit"] *= 1 + rate - 3 * target
        why += f" > {3 * target:.0%}: × {1 + rate - 3 * target:.2f}"
    else:
        wanted = max(state["uses"]) + statistics.stdev(state["uses"]) * state["margin"]
        if wanted <= state["limit"] * c["down_from"]:
            state["limit"] = max(state["limit"] * c["down_to"], wanted)
            state["was_down"] = True
            why += f"; largest use and margin are {wanted:.2f} CPUs: down"
    state["limit"] = max(c["least_cpus"], state["limit"])
    state["throttled"], state["at"] = [0.0] * SAMPLES, t_s
    return state, why


KIND = ControllerKind(
    name="captain",
    about="limits the service itself by its throttled periods; the rest is for best effort",
    source="Wang et al., NSDI 2024; microsoft/autothrottle, worker-daemon.py (MIT), read",
    needs=("throttled", "cpu", "quota"),
    on_services=("quota",),
    constants=CONSTANTS,
    decide=decide,
)
