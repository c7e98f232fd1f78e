"""OSML's gates: when a service has too little, too much, or lost by a change.

Source: Liu et al., "OSML+", FAST 2023; Sys-Inventor-Lab/AI4System-OSML (GPL): its configuration was
read here, and the gates were written anew from notes on its code. A look each 0.1 s, latency each
0.5 s, a mean of the last five. Too little: the target is missed, and the latency is above 0.95 of
that mean, so it does not fall by itself. Too much: the latency is more than 20 % below the target.
A change after which a service misses is undone. There three neural networks propose how many cores
and cache ways to move; they must be trained, so here a gate moves one core. Without the models it
forgets what it has tried, so it can take the same core again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.controllers import cores
from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Decision, History

CONSTANTS = {"latency_s": 0.5, "mean_of": 5.0, "not_falling": 0.95, "slack_rich": 0.20}


def decide(history: History) -> Decision:
    """Undo a step that hurt; else the service that misses most; else the one with most slack."""
    now, c = history.now, history.constants
    memory: dict[str, Any] = dict(history.memory)
    length_ms = round(c["latency_s"] * 1000)
    slacks = {name: group.slack(length_ms) for name, group in now.critical.items()}
    slack = {name: one for name, one in slacks.items() if one is not None}
    if not slack or len(slack) < len(slacks) or not history.is_due("at", c["latency_s"]):
        return Decision(memory=memory)
    memory["at"] = now.t_s
    memory["ratios"] = _ratios(memory.get("ratios", {}), slack, round(c["mean_of"]))
    if not cores.are_parted(now):
        why = "start: equal parts of all cores"
        parts = tuple(cores.give(now, cores.of_services(now), why))
        return Decision(changes=parts, memory=memory)
    took = memory.pop("took", None)
    if took in slack and slack[took] < 0:
        why = f"{took} misses its target after a core was taken: undone"
        return Decision(changes=tuple(cores.moved(now, took, 1, why)), memory=memory)
    poor = [n for n in slack if slack[n] < 0 and _is_rising(memory["ratios"][n], c["not_falling"])]
    if poor:
        name = min(poor, key=lambda one: slack[one])
        why = f"{name} misses its target (slack {slack[name]:.2f}) and does not recover"
        changes = cores.moved(now, name, 1, why, cores.giver(now, name, slack))
        return Decision(changes=tuple(changes), memory=memory)
    name = max(slack, key=lambda one: slack[one])
    if slack[name] > c["slack_rich"]:
        why = f"slack of {name} {slack[name]:.2f} > {c['slack_rich']:.2f}: too much"
        if changes := cores.moved(now, name, -1, why):
            return Decision(changes=tuple(changes), memory={**memory, "took": name})
    return Decision(memory=memory)


def _ratios(
    before: Mapping[str, list[float]], slack: Mapping[str, float], keep: int
) -> dict[str, list[float]]:
    """The last latencies of each service, as shares of its target."""
    return {name: [*before.get(name, []), 1 - one][-keep:] for name, one in slack.items()}


def _is_rising(ratios: list[float], bound: float) -> bool:
    return ratios[-1] > bound * sum(ratios) / len(ratios)


KIND = ControllerKind(
    name="osml-gates",
    about="one core by OSML's gates each 0.5 s; a step after which a service misses is undone",
    source="Liu et al., FAST 2023; Sys-Inventor-Lab/AI4System-OSML (GPL): gates only, anew",
    needs=("tail", "cores"),
    on_services=("cores",),
    constants=CONSTANTS,
    window="latency_s",
    decide=decide,
)
