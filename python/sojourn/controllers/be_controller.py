"""be-controller: the quota of all best-effort groups is multiplied by 0.9 or 1.1.

Source: Hyperpilot's be-controller (2017), by an author of Heracles and of the first paper; its code
was read in part. Every 15 s: slack below −0.05 turns best-effort work off; slack below 0.05 or CPU
use above 90 % shrinks; slack above 0.15 with CPU use below 75 % grows. All groups have one quota.
The start after "off" at a tenth of a CPU is this lab's: there the node's label is removed by hand.
"""

from __future__ import annotations

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import OFF_CPUS, Decision, History, for_all

CONSTANTS = {
    "every_s": 15.0,
    "slack_off": -0.05,
    "slack_shrink": 0.05,
    "slack_grow": 0.15,
    "cpu_shrink": 0.90,
    "cpu_grow": 0.75,
    "shrink": 0.9,
    "grow": 1.1,
    "restart_cpus": 0.1,
}


def decide(history: History) -> Decision:
    """One look every 15 s."""
    now, c = history.now, history.constants
    slack = now.slack(round(c["every_s"] * 1000))
    used = now.signals.get("cpu")
    if slack is None or used is None or not history.is_due("at", c["every_s"]):
        return Decision(memory=history.memory)
    share, memory = used.value / now.cpus, {"at": now.t_s}
    quota = max((_quota(g.allocation.quota, now.cpus) for g in now.best_effort.values()), default=0)
    if slack < c["slack_off"]:
        level, why = OFF_CPUS, f"slack {slack:.2f} < {c['slack_off']:.2f}: off"
    elif slack < c["slack_shrink"] or share > c["cpu_shrink"]:
        level = max(OFF_CPUS, quota * c["shrink"])
        why = f"slack {slack:.2f}, CPU use {share:.0%}: × {c['shrink']:g}"
    elif slack > c["slack_grow"] and share < c["cpu_grow"]:
        level = min(float(now.cpus), max(c["restart_cpus"], quota * c["grow"]))
        why = f"slack {slack:.2f}, CPU use {share:.0%}: × {c['grow']:g}"
    else:
        return Decision(memory=memory)
    changes = for_all(now.best_effort, "quota", level=round(level, 4), why=why)
    return Decision(changes=tuple(changes), memory=memory)


def _quota(quota: float | None, cpus: int) -> float:
    return float(cpus) if quota is None else quota


KIND = ControllerKind(
    name="be-controller",
    about="best-effort quota × 0.9 or × 1.1 every 15 s, by slack and CPU use",
    source="hyperpilotio/be-controller (2017), read in part",
    needs=("tail", "cpu", "quota"),
    constants=CONSTANTS,
    decide=decide,
)
