"""Katalyst's rama: steps by ln(current/target) of indicators; the largest wins.

Source: kubewharf/katalyst-core (Apache-2.0), sysadvisor, PID controller and its configuration, read
in part: gains as a share of the machine (Kpp 0.1, Kpn 0.01), no derivative part, dead bands 5 %
above and 80 % below for the scheduling wait; 1 % and 6 % for the CPU use. The targets (460 µs and
0.8), the period of 5 s and the steps of at most 10 up and 2 down are from memory. The width of the
gap around the reference policy was not read: a quarter of the machine around CPU use / 0.8 is this
lab's. The gains of the CPU use (10 and 2 in an absolute form) were read as the same share.
"""

from __future__ import annotations

import math

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import OFF_CPUS, Decision, History, parts, quotas

CONSTANTS = {
    "every_s": 5.0,
    "gain_up": 0.1,
    "gain_down": 0.01,
    "wait_target_ms": 0.46,
    "wait_above": 0.05,
    "wait_below": 0.8,
    "use_target": 0.8,
    "use_above": 0.01,
    "use_below": 0.06,
    "up_most": 10.0,
    "down_most": 2.0,
    "gap": 0.25,
}
LEAST = 1e-6  # of an indicator whose logarithm is taken


def decide(history: History) -> Decision:
    """The requirement of all services in CPUs; best-effort groups get the rest."""
    now, c = history.now, history.constants
    waits = [group.signal("runq_delay_ms") for group in now.critical.values()]
    uses = [group.signal("cpu") for group in now.critical.values()]
    if None in waits or None in uses or not waits or not history.is_due("at", c["every_s"]):
        return Decision(memory=history.memory)
    use, wait = sum(one or 0.0 for one in uses), max(one or 0.0 for one in waits)
    before = float(history.memory.get("required", _required(history)))
    steps = {
        "wait": _step(wait, c["wait_target_ms"], c["wait_above"], c["wait_below"], history),
        "use": _step(
            use / max(before, LEAST), c["use_target"], c["use_above"], c["use_below"], history
        ),
    }
    name = max(steps, key=lambda one: steps[one])
    reference, gap = use / c["use_target"], c["gap"] * now.cpus
    required = min(max(before + steps[name], reference - gap, 0.0), reference + gap)
    required = round(min(required, now.cpus - OFF_CPUS), 4)
    memory = {"at": now.t_s, "required": required}
    if abs(required - before) < 1e-3 and history.memory:
        return Decision(memory=memory)
    why = f"{name} asks for {steps[name]:+.2f} CPUs: services have {required:.2f}"
    level = max(OFF_CPUS, now.cpus - required)
    return Decision(changes=tuple(parts(now.best_effort, level, why)), memory=memory)


def _step(current: float, target: float, above: float, below: float, history: History) -> float:
    """The proportional part outside of the dead band, in CPUs, clamped."""
    c, error = history.constants, math.log(max(current, LEAST) / target)
    ratio = current / target - 1
    if -below <= ratio <= above:
        return 0.0
    gain = (c["gain_up"] if error >= 0 else c["gain_down"]) * history.now.cpus
    return min(max(gain * error, -c["down_most"]), c["up_most"])


def _required(history: History) -> float:
    known = quotas(history.now.best_effort)
    return history.now.cpus / 2 if known is None else max(0.0, history.now.cpus - known)


KIND = ControllerKind(
    name="rama",
    about="proportional steps on run-queue wait and CPU use; the largest wins",
    source="kubewharf/katalyst-core, sysadvisor (Apache-2.0), read in part",
    needs=("runq_delay", "cpu", "quota"),
    constants=CONSTANTS,
    decide=decide,
)
