"""Heracles: best-effort work grows while there is slack, and is off without.

Source: Lo et al., "Heracles: Improving Resource Efficiency at Scale", ISCA 2015, algorithms 1 and
2, from memory; the thresholds agree with the re-implementation Pacific73/Heracles in form. Left
out: the cache and power controllers, which need counters. The limit of DRAM bandwidth (90 %) is
therefore not applied. Five minutes of rest after a violation are from memory, too.

The network controller, from memory as well, runs with the constant `link_bps`, what the link takes
in bytes/s. Each second best-effort groups may send link − LC − max(5 % of link, 10 % of LC), in
equal parts. LC is what the services send; here it is what they send and receive, so it is never
too little. Where that of one service is not known, nothing changes.
"""

from __future__ import annotations

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Change, Decision, History, for_all

CONSTANTS = {
    "top_s": 15.0,  # how often the upper controller looks
    "core_s": 2.0,  # how often the core controller does
    "load_off": 0.85,
    "load_on": 0.80,
    "slack_grow": 0.10,  # below: no growth
    "slack_shrink": 0.05,  # below: down to `cores_least`
    "cores_least": 2.0,
    "rest_s": 300.0,  # after a violation
    "link_bps": 0.0,  # what the link takes; 0: sending is not limited
    "network_s": 1.0,  # how often the network controller looks
    "link_spare": 0.05,  # of the link
    "service_spare": 0.10,  # of what the services use
}


def decide(history: History) -> Decision:
    """The network controller each second, beside the other two."""
    decision = _cores_and_top(history)
    if not history.constants["link_bps"] or not history.is_due(
        "network", history.constants["network_s"]
    ):
        return decision
    memory = {**decision.memory, "network": history.now.t_s}
    return Decision(changes=(*decision.changes, *_network(history)), memory=memory)


def _network(history: History) -> list[Change]:
    now, c = history.now, history.constants
    used = [group.signal("network") for group in now.critical.values()]
    known = [one for one in used if one is not None]
    if len(known) < len(used) or not now.best_effort:
        return []
    services = sum(known)
    spare = max(c["link_spare"] * c["link_bps"], c["service_spare"] * services)
    left = max(0.0, c["link_bps"] - services - spare)
    why = f"services use {services / 1e6:.4g} MB/s of the link: {left / 1e6:.4g} MB/s are left"
    return for_all(now.best_effort, "egress", level=round(left / len(now.best_effort)), why=why)


def _cores_and_top(history: History) -> Decision:
    """The upper controller every 15 s; between, the core controller every 2 s."""
    now, c, memory = history.now, history.constants, dict(history.memory)
    slack = now.slack(round(c["top_s"] * 1000))
    loads = [group.signal("load") for group in now.critical.values()]
    known = [load for load in loads if load is not None]
    if slack is None or not known:
        return Decision(memory=memory)
    cores = _cores(history)
    if history.is_due("top", c["top_s"]):
        memory["top"] = memory["core"] = now.t_s
        memory["grows"] = slack >= c["slack_grow"]
        return Decision(
            changes=tuple(_top(history, slack, max(known), cores, memory)), memory=memory
        )
    if history.is_due("core", c["core_s"]):
        memory["core"] = now.t_s
        if cores and memory.get("grows") and slack > c["slack_grow"] and cores < now.cpus - 1:
            why = f"slack {slack:.2f} > {c['slack_grow']:.2f}: one core more"
            changes = for_all(now.best_effort, "cores", level=cores + 1, why=why)
            return Decision(changes=tuple(changes), memory=memory)
    return Decision(memory=memory)


def _top(
    history: History, slack: float, load: float, cores: int, memory: dict[str, object]
) -> list[Change]:
    now, c = history.now, history.constants
    if slack < 0:
        memory["rest_until"] = now.t_s + c["rest_s"]
        return for_all(
            now.best_effort, "cores", level=0, why=f"slack {slack:.2f} < 0: off, then rest"
        )
    if load > c["load_off"]:
        return for_all(
            now.best_effort, "cores", level=0, why=f"load {load:.2f} > {c['load_off']:.2f}: off"
        )
    if cores == 0:
        if load < c["load_on"] and now.t_s >= float(history.memory.get("rest_until", 0.0)):
            why = f"load {load:.2f} < {c['load_on']:.2f}: on, with one core"
            return for_all(now.best_effort, "cores", level=1, why=why)
        return []
    least = round(c["cores_least"])
    if slack < c["slack_shrink"] and cores > least:
        why = f"slack {slack:.2f} < {c['slack_shrink']:.2f}: {least} cores"
        return for_all(now.best_effort, "cores", level=least, why=why)
    return []


def _cores(history: History) -> int:
    """What best-effort groups have; all is one core less than the machine's."""
    results = [group.allocation.cores for group in history.now.best_effort.values()]
    return max((history.now.cpus if one is None else one for one in results), default=0)


KIND = ControllerKind(
    name="heracles",
    about="grows best-effort cores while p99 over 15 s has slack; off above 85 % load",
    source="Lo et al., ISCA 2015 (from memory); Pacific73/Heracles",
    needs=("tail", "load", "cores"),
    constants=CONSTANTS,
    window="top_s",
    asks=lambda constants: ("egress",) if constants["link_bps"] else (),
    decide=decide,
)
