"""be-controller: each best-effort quota × (1 + a part of the slack).

Source: Hyperpilot's be-controller (2017), by an author of Heracles and of the first
paper; its main program was read, and the rule is written anew. Every 15 s: slack below −0.05 turns
best-effort work off. Slack below 0.05 shrinks by its distance from 0.05. Else CPU use above 90 %
shrinks by its distance from that. Slack above 0.15 with CPU use below 75 % grows by the slack. Each
group has its own quota, and all have the same factor.

How large a part is a number of a configuration that was not read. Those here make × 0.9 and × 1.1
at a slack of 0 and 0.2, as an earlier form of it has for all slacks. The start after "off" at a
tenth of a CPU is this lab's: there the node's label is removed by hand.
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
    "shrink": 2.0,  # of the distance from the threshold
    "grow": 0.5,  # of the slack
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
    if slack < c["slack_off"]:
        why = f"slack {slack:.2f} < {c['slack_off']:.2f}: off"
        changes = for_all(now.best_effort, "quota", level=OFF_CPUS, why=why)
        return Decision(changes=tuple(changes), memory=memory)
    least = OFF_CPUS
    if slack < c["slack_shrink"]:
        factor = 1 + c["shrink"] * (slack - c["slack_shrink"])
    elif share > c["cpu_shrink"]:
        factor = 1 + c["shrink"] * (c["cpu_shrink"] - share)
    elif slack > c["slack_grow"] and share < c["cpu_grow"]:
        factor, least = 1 + c["grow"] * slack, c["restart_cpus"]
    else:
        return Decision(memory=memory)
    why = f"slack {slack:.2f}, CPU use {share:.0%}: × {factor:.3g}"
    changes = []
    for name, group in now.best_effort.items():
        quota = group.allocation.quota
        wanted = factor * (now.cpus if quota is None else quota)
        level = round(min(float(now.cpus), max(least, wanted)), 4)
        changes += for_all({name: group}, "quota", level=level, why=why)
    return Decision(changes=tuple(changes), memory=memory)


KIND = ControllerKind(
    name="be-controller",
    about="best-effort quota × (1 + k · slack) every 15 s, by slack and CPU use",
    source="hyperpilotio/be-controller (2017), main program read",
    needs=("tail", "cpu", "quota"),
    constants=CONSTANTS,
    window="every_s",
    decide=decide,
)
