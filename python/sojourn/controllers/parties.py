"""PARTIES: one step of one resource, then five samples to see what it did.

Source: Chen, Delimitrou, Martínez, "PARTIES", ASPLOS 2019; rules as in the authors' public code,
sc2682cornell/PARTIES, manager/PARTIES.py (MIT), read; written anew. There the resources are cores,
cache ways and frequency in turn, the first drawn by lot. Cores that no service has are the
best-effort groups'. Only these can be moved on every machine, so the turn has one member.

With the constant `ways`, the number that the cache has, ways are the second. A service may fill
all that best-effort groups may not, which have one at first. So this parts the cache between one
service and them; with several services it is left out. Here cores come first, and not by lot. The
frequency of a service is not moved.

There the sample that ends a vote also decides on the next step, five to ten samples follow a step
down that was undone, and where there is nothing to do each second sample decides. Here each sample
that is no vote does.

Every sample is a window of `sample_s`; "mean slack" is of the mean p99 of the last ten.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.controllers import cores
from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Change, Decision, Group, History, Knob, for_all

CONSTANTS = {
    "sample_s": 0.1,
    "slack_up": 0.05,  # both slacks below: one step more
    "slack_down": 0.20,  # both above: one step less
    "votes": 5.0,
    "rest": 100.0,  # samples without a step down after one was undone
    "mean_of": 10.0,
    "ways": 0.0,  # of the cache; 0: they are not moved
}
CORES: Knob = "cores"
WAYS: Knob = "ways"


def decide(history: History) -> Decision:
    """Vote on the last step if there was one, else take the next."""
    now, c, memory = history.now, history.constants, dict(history.memory)
    if not history.is_due("sample", c["sample_s"]) or not now.critical:
        return Decision(memory=memory)
    slacks = {name: group.slack(_length_ms(history)) for name, group in now.critical.items()}
    if any(slack is None for slack in slacks.values()):
        return Decision(memory=memory)
    slack = {name: one for name, one in slacks.items() if one is not None}
    memory["sample"] = now.t_s
    memory["rest"] = {name: max(0, left - 1) for name, left in memory.get("rest", {}).items()}
    tails = _tails(history, memory, round(c["mean_of"]))
    memory["tails"] = tails
    mean = {
        name: 1 - sum(tails[name]) / len(tails[name]) / (group.target_ns or 1.0)
        for name, group in now.critical.items()
    }
    if not _is_parted(history):
        return Decision(changes=tuple(_start(history)), memory=memory)
    if step := memory.get("step"):
        return _vote(history, memory, dict(step), slack)
    return _next(history, memory, slack, mean)


def _is_parted(history: History) -> bool:
    """Whether cores, and cache ways where they are moved, have been parted."""
    ways = [group.allocation.ways for group in history.now.best_effort.values()]
    return cores.are_parted(history.now) and not (WAYS in _resources(history) and None in ways)


def _start(history: History) -> list[Change]:
    """Equal parts of all cores, and one cache way for best-effort groups."""
    now, changes = history.now, []
    if not cores.are_parted(now):
        why = "start: equal parts of all cores"
        changes = cores.give(now, cores.of_services(now), why)
    if WAYS in _resources(history):
        free = {n: g for n, g in now.best_effort.items() if g.allocation.ways is None}
        changes += for_all(free, WAYS, level=1, why="start: one cache way")
    return changes


def _resources(history: History) -> tuple[Knob, ...]:
    """What is moved here, in the order of the turn."""
    now, has_ways = history.now, history.constants["ways"] >= 2
    return (CORES, WAYS) if has_ways and len(now.critical) == 1 and now.best_effort else (CORES,)


def _moved(
    history: History, what: Knob, name: str, by: int, why: str, *, giver: str = ""
) -> list[Change]:
    """One step more or less of a resource for a service; nothing where there is none to move."""
    now = history.now
    if what == CORES:
        return cores.moved(now, name, by, why, giver)
    level = max(group.allocation.ways or 1 for group in now.best_effort.values()) - by
    is_one = 1 <= level < history.constants["ways"]
    return for_all(now.best_effort, WAYS, level=level, why=why) if is_one else []


def _tails(history: History, memory: dict[str, object], keep: int) -> dict[str, list[float]]:
    now, before = history.now, memory.get("tails", {})
    assert isinstance(before, dict)  # noqa: S101  # it wrote it itself
    return {
        name: [*before.get(name, []), _p99(history, group)][-keep:]
        for name, group in now.critical.items()
    }


def _length_ms(history: History) -> int:
    """Length of the windows that are its samples."""
    return round(history.constants["sample_s"] * 1000)


def _p99(history: History, group: Group) -> float:
    window = group.window(_length_ms(history))
    return (window.p99_ns or 0.0) if window else 0.0


def _vote(
    history: History, memory: dict[str, object], step: dict[str, object], slack: dict[str, float]
) -> Decision:
    """One of five samples after a step; after the last it stays or is undone."""
    now, c, name = history.now, history.constants, str(step["service"])
    if name not in now.critical:
        return Decision(memory={**memory, "step": None})
    if step["is_up"]:
        is_good = _p99(history, now.critical[name]) < float(str(step["was_ns"]))
    else:
        is_good = all(one >= c["slack_up"] for one in slack.values())
    votes = int(str(step["votes"])) + (1 if is_good else -1)
    seen = int(str(step["seen"])) + 1
    if seen < c["votes"]:
        return Decision(memory={**memory, "step": {**step, "votes": votes, "seen": seen}})
    memory["step"] = None
    is_up = bool(step["is_up"])
    if votes > 0:
        return Decision(memory=memory)
    turned = _turned(memory, name, 1 + _turn(memory, name, is_up=is_up), is_up=is_up)
    if is_up:  # a step up that did not help stays; the next is another
        return Decision(memory=turned)
    rest = memory.get("rest", {})
    assert isinstance(rest, dict)  # noqa: S101
    turned["rest"] = {**rest, name: round(c["rest"])}
    why = f"the step down of {name} left a slack below {c['slack_up']:.2f}: undone, then rest"
    undone = _moved(history, _resource(step), name, 1, why)
    return Decision(changes=tuple(undone), memory=turned)


def _next(
    history: History, memory: dict[str, object], slack: dict[str, float], mean: dict[str, float]
) -> Decision:
    """The service with the worst mean first; else one step from the one with most slack."""
    c = history.constants
    short = [n for n in slack if slack[n] < c["slack_up"] and mean[n] < c["slack_up"]]
    if short:
        name = min(short, key=lambda one: mean[one])
        why = (
            f"slack of {name} {slack[name]:.2f}, mean {mean[name]:.2f}: both < {c['slack_up']:.2f}"
        )
        giver = cores.giver(history.now, name, slack)
        return _step(history, memory, name, why, is_up=True, giver=giver)
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
        return _step(history, memory, name, why, is_up=False)
    return Decision(memory=memory)


def _step(
    history: History,
    memory: dict[str, object],
    name: str,
    why: str,
    *,
    is_up: bool,
    giver: str = "",
) -> Decision:
    """One step of the resource whose turn it is, else of the next that can be moved."""
    resources, first = _resources(history), _turn(memory, name, is_up=is_up)
    for at in range(first, first + len(resources)):
        what = resources[at % len(resources)]
        changes = _moved(history, what, name, 1 if is_up else -1, why, giver=giver)
        if changes:
            step = {
                "service": name,
                "what": what,
                "is_up": is_up,
                "was_ns": _p99(history, history.now.critical[name]),
                "votes": 0,
                "seen": 0,
            }
            memory = {**_turned(memory, name, at, is_up=is_up), "step": step}
            return Decision(changes=tuple(changes), memory=memory)
    return Decision(memory=memory)


def _resource(step: Mapping[str, object]) -> Knob:
    return WAYS if step["what"] == WAYS else CORES


def _turn(memory: Mapping[str, object], name: str, *, is_up: bool) -> int:
    """Place in the turn of a service; it begins anew where the direction changes."""
    turns = memory.get("turn", {})
    assert isinstance(turns, dict)  # noqa: S101  # it wrote it itself
    was_up, at = turns.get(name, (is_up, 0))
    return int(at) if was_up == is_up else 0


def _turned(memory: dict[str, object], name: str, at: int, *, is_up: bool) -> dict[str, object]:
    turns = memory.get("turn", {})
    assert isinstance(turns, dict)  # noqa: S101
    return {**memory, "turn": {**turns, name: [is_up, at]}}


KIND = ControllerKind(
    name="parties",
    about="one core (or cache way) at a time by p99 of 100 ms; five samples vote on each step",
    source="Chen et al., ASPLOS 2019; sc2682cornell/PARTIES, manager/PARTIES.py (MIT), read",
    needs=("tail", "cores"),
    on_services=("cores",),
    constants=CONSTANTS,
    window="sample_s",
    asks=lambda constants: (WAYS,) if constants["ways"] else (),
    levels=lambda constants: (
        ((WAYS, 1), (WAYS, round(constants["ways"]))) if constants["ways"] else ()
    ),
    decide=decide,
)
