"""PARTIES: one step of one resource, then five samples to see what it did.

Source: Chen, Delimitrou, Martínez, "PARTIES", ASPLOS 2019; rules as in the authors' public code,
sc2682cornell/PARTIES, manager/PARTIES.py (MIT), read; written anew. There the resources are cores,
frequency and cache ways in turn, the first drawn by lot. Here only cores can be moved on every
machine, so the turn has one member. Cores that no service has are the best-effort groups'.

Every sample is a window of 100 ms; "mean slack" is of the mean p99 of the last ten.
"""

from __future__ import annotations

from sojourn.controllers import cores
from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Change, Decision, Group, History, Look

CONSTANTS = {
    "sample_s": 0.1,
    "slack_up": 0.05,  # both slacks below: one step more
    "slack_down": 0.20,  # both above: one step less
    "votes": 5.0,
    "rest": 100.0,  # samples without a step down after one was undone
    "mean_of": 10.0,
}


def decide(history: History) -> Decision:
    """Vote on the last step if there was one, else take the next."""
    now, c, memory = history.now, history.constants, dict(history.memory)
    if not history.is_due("sample", c["sample_s"]) or not now.critical:
        return Decision(memory=memory)
    slacks = {name: group.slack(100) for name, group in now.critical.items()}
    if any(slack is None for slack in slacks.values()):
        return Decision(memory=memory)
    slack = {name: one for name, one in slacks.items() if one is not None}
    memory["sample"] = now.t_s
    memory["rest"] = {name: max(0, left - 1) for name, left in memory.get("rest", {}).items()}
    tails = _tails(memory, now, round(c["mean_of"]))
    memory["tails"] = tails
    mean = {
        name: 1 - sum(tails[name]) / len(tails[name]) / (group.target_ns or 1.0)
        for name, group in now.critical.items()
    }
    if not cores.are_parted(now):
        why = "start: equal parts of all cores"
        parts = tuple(cores.give(now, cores.of_services(now), why))
        return Decision(changes=parts, memory=memory)
    if step := memory.get("step"):
        return _vote(history, memory, dict(step), slack)
    return _next(history, memory, slack, mean)


def _tails(memory: dict[str, object], now: Look, keep: int) -> dict[str, list[float]]:
    before = memory.get("tails", {})
    assert isinstance(before, dict)  # noqa: S101  # it wrote it itself
    return {
        name: [*before.get(name, []), _p99(group)][-keep:] for name, group in now.critical.items()
    }


def _p99(group: Group) -> float:
    window = group.window(100)
    return (window.p99_ns or 0.0) if window else 0.0


def _vote(
    history: History, memory: dict[str, object], step: dict[str, object], slack: dict[str, float]
) -> Decision:
    """One of five samples after a step; after the last it stays or is undone."""
    now, c, name = history.now, history.constants, str(step["service"])
    if name not in now.critical:
        return Decision(memory={**memory, "step": None})
    if step["is_up"]:
        is_good = _p99(now.critical[name]) < float(str(step["was_ns"]))
    else:
        is_good = all(one >= c["slack_up"] for one in slack.values())
    votes = int(str(step["votes"])) + (1 if is_good else -1)
    seen = int(str(step["seen"])) + 1
    if seen < c["votes"]:
        return Decision(memory={**memory, "step": {**step, "votes": votes, "seen": seen}})
    memory["step"] = None
    if votes > 0 or step["is_up"]:  # a step up that did not help stays; the next is another
        return Decision(memory=memory)
    rest = memory.get("rest", {})
    assert isinstance(rest, dict)  # noqa: S101
    memory["rest"] = {**rest, name: round(c["rest"])}
    why = f"the step down of {name} left a slack below {c['slack_up']:.2f}: undone, then rest"
    return Decision(changes=tuple(cores.moved(now, name, 1, why)), memory=memory)


def _next(
    history: History, memory: dict[str, object], slack: dict[str, float], mean: dict[str, float]
) -> Decision:
    """The service with the worst mean first; else one step from the one with most slack."""
    now, c = history.now, history.constants
    short = [n for n in slack if slack[n] < c["slack_up"] and mean[n] < c["slack_up"]]
    if short:
        name = min(short, key=lambda one: mean[one])
        why = (
            f"slack of {name} {slack[name]:.2f}, mean {mean[name]:.2f}: both < {c['slack_up']:.2f}"
        )
        changes = cores.moved(now, name, 1, why, cores.giver(now, name, slack))
        return _stepped(memory, now, name, changes, is_up=True)
    rest = memory.get("rest", {})
    assert isinstance(rest, dict)  # noqa: S101
    rich = [
        n
        for n in slack
        if slack[n] > c["slack_down"] and mean[n] > c["slack_down"] and not rest.get(n)
    ]
    if rich:
        name = max(rich, key=lambda one: slack[one])
        both = f"slack of {name} {slack[name]:.2f}, mean {mean[name]:.2f}"
        why = f"{both}: both > {c['slack_down']:.2f}"
        return _stepped(memory, now, name, cores.moved(now, name, -1, why), is_up=False)
    return Decision(memory=memory)


def _stepped(
    memory: dict[str, object], now: Look, name: str, changes: list[Change], *, is_up: bool
) -> Decision:
    if not changes:
        return Decision(memory=memory)
    step = {
        "service": name,
        "is_up": is_up,
        "was_ns": _p99(now.critical[name]),
        "votes": 0,
        "seen": 0,
    }
    return Decision(changes=tuple(changes), memory={**memory, "step": step})


KIND = ControllerKind(
    name="parties",
    about="one core at a time by p99 of 100 ms; five samples vote on each step",
    source="Chen et al., ASPLOS 2019; sc2682cornell/PARTIES, manager/PARTIES.py (MIT), read",
    needs=("tail", "cores"),
    on_services=("cores",),
    constants=CONSTANTS,
    decide=decide,
)
