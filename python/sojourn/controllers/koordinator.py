"""Koordinator's cpuSuppress: best-effort CPUs are what 65 % of the node leave.

Latency is no input.

Source: koordinator-sh/koordinator, cpu_suppress.go (Apache-2.0), `adjustByCfsQuota`, read in part.
A rise is at most 10 % of the node in a step, a change below 1 % is ignored unless it is to the
least quota, which is 2 ms in 100 ms (the value from memory). There one group holds all best-effort
work; here several have equal parts.
"""

from __future__ import annotations

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Decision, History, parts, quotas

CONSTANTS = {
    "every_s": 1.0,
    "threshold": 0.65,
    "rise_most": 0.10,
    "ignored": 0.01,
    "least_cpus": 0.02,
}


def decide(history: History) -> Decision:
    """Node · 65 % − use of services − use of the system."""
    now, c = history.now, history.constants
    all_used = now.signals.get("cpu")
    uses = [group.signal("cpu") for group in now.groups.values()]
    if all_used is None or None in uses or not history.is_due("at", c["every_s"]):
        return Decision(memory=history.memory)
    services = sum(group.signal("cpu") or 0.0 for group in now.critical.values())
    system = max(0.0, all_used.value - sum(use or 0.0 for use in uses))
    wanted = max(now.cpus * c["threshold"] - services - system, c["least_cpus"])
    memory, current = {"at": now.t_s}, quotas(now.best_effort)
    is_least = wanted == c["least_cpus"]
    if current is not None and abs(wanted - current) < now.cpus * c["ignored"] and not is_least:
        return Decision(memory=memory)
    rise = now.cpus * c["rise_most"]
    level = wanted if current is None or wanted - current <= rise else current + rise
    why = (
        f"{c['threshold']:.0%} of {now.cpus} CPUs less {services:.2f} of services "
        f"and {system:.2f} of the system"
    )
    return Decision(changes=tuple(parts(now.best_effort, level, why)), memory=memory)


KIND = ControllerKind(
    name="koordinator",
    about="best-effort quota = 65 % of the node less what services and system use",
    source="koordinator-sh/koordinator, cpu_suppress.go (Apache-2.0), read",
    needs=("cpu", "quota"),
    constants=CONSTANTS,
    decide=decide,
)
