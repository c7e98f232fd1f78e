"""Captain of Autothrottle: the service's own limit follows throttled periods.

Source: Wang et al., "Autothrottle", NSDI 2024; microsoft/autothrottle, worker-daemon.py (MIT),
class CaptainScaler, read; written anew. There a *Tower* sets `target` each minute by a bandit; here
it is a constant. A start limit of 1 CPU is as there. That best-effort groups get what the services'
limits leave is this lab's addition: the original has no best-effort work.

Periods are those of the group's own quota, of any length, as the kernel counts them. Where a look
has no such count, each sample of 100 ms is one. Counts of looks in between add up.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Change, Decision, Group, History, for_all, parts

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
    now, c, memory = history.now, history.constants, history.memory
    for group in now.critical.values():
        if group.signal("throttled") is None or group.signal("cpu") is None:
            return Decision(memory=memory)
    before, states = memory.get("seen", {}), dict(memory.get("services", {}))
    seen = {name: _added(before.get(name), group) for name, group in now.critical.items()}
    if not history.is_due("sample", c["sample_s"]):
        return Decision(memory={**memory, "seen": seen})
    samples = _samples(history)
    changes: list[Change] = []
    limits = 0.0
    for name, group in now.critical.items():
        last = dict(states.get(name) or _start(c, now.t_s))
        state, why = _captain(last, seen[name], now.t_s, samples, c)
        states[name] = state
        limits += float(state["limit"])
        changes += for_all({name: group}, "quota", level=round(float(state["limit"]), 4), why=why)
    if changes:
        left = max(c["least_cpus"], now.cpus - limits)
        changes += parts(now.best_effort, left, "what the services' limits leave")
    return Decision(changes=tuple(changes), memory={"sample": now.t_s, "services": states})


def _added(before: Mapping[str, Any] | None, group: Group) -> dict[str, Any]:
    """What was seen since the last sample, with this look: its counts are since the look before.

    `periods` is None where they are not counted; `uses` has the CPUs of each look.
    """
    old: Mapping[str, Any] = before or {"throttled": 0.0, "periods": 0.0, "uses": []}
    periods = group.signal("periods")
    is_counted = periods is not None and old["periods"] is not None
    return {
        "throttled": old["throttled"] + (group.signal("throttled") or 0.0),
        "periods": old["periods"] + periods if is_counted else None,
        "uses": [*old["uses"], group.signal("cpu") or 0.0][-USES:],
    }


def _start(c: Any, t_s: float) -> dict[str, Any]:
    limit = c["start_cpus"]
    return {
        "limit": limit,
        "last": limit,
        "throttled": [0.0] * SAMPLES,
        "periods": [1.0] * SAMPLES,
        "uses": [0.0] * USES,
        "margin": c["margin"],
        "was_down": False,
        "at": t_s,
    }


def _samples(history: History) -> int:
    """How many samples this look replaces: a manager may look less often than each 100 ms."""
    last = history.memory.get("sample")
    if last is None:
        return 1
    since_s = history.now.t_s - float(last)
    return min(USES, max(1, round(since_s / history.constants["sample_s"])))


def _rate(state: Mapping[str, Any]) -> float:
    """Share of throttled periods in the last samples; 0 where no period was counted."""
    periods = statistics.mean(state["periods"])
    return statistics.mean(state["throttled"]) / periods if periods else 0.0


def _captain(
    state: dict[str, Any], seen: Mapping[str, Any], t_s: float, samples: int, c: Any
) -> tuple[dict[str, Any], str]:
    """What was seen, as so many samples; every second one decision. The state and the reason."""
    throttled, used = seen["throttled"] / samples, statistics.mean(seen["uses"])
    periods = 1.0 if seen["periods"] is None else seen["periods"] / samples
    state["throttled"] = [*state["throttled"], *[throttled] * samples][-SAMPLES:]
    state["periods"] = [*state["periods"], *[periods] * samples][-SAMPLES:]
    state["uses"] = [*state["uses"], *[used] * samples][-USES:]
    rate, target = _rate(state), c["target"]
    why = f"throttled in {rate:.0%} of periods"
    if rate > 3 * target and state["was_down"]:  # the last step down was wrong
        state["limit"] = 2 * state["last"] - state["limit"]
        state["margin"] += rate - target
        state["throttled"], state["was_down"] = [0.0] * SAMPLES, False
        why += f" > {3 * target:.0%} after a step down: undone"
    if t_s < state["at"] + c["every_s"] - c["sample_s"] / 2:  # the nearest sample
        return state, why
    state["last"], state["was_down"] = state["limit"], False
    rate = _rate(state)
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
