"""The step after CPU time: bytes/s of best-effort groups on their disks.

It is tried where the least quota has left the late requests as they were, so that CPU time is not
the cause, and where a best-effort group uses a disk. All of them get `io_least`. If `remains` of
the late requests (a half) are late after `trial_s` too, the disk is not the cause either, and the
limits go. If fewer are late without doubt, they stay. Few requests say neither, and the trial goes
on. Then they grow while the target holds without doubt, and go when they are twice what was used
before. A level that fails is left for the one before it, and rests for a time that doubles.

Source: of this lab. PARTIES moves one resource after the other in the same way, and takes the
answer from the tail, too; it does not know how sure that answer is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sojourn.controllers.evidence import Late
from sojourn.controllers.look import Change, Look, for_all

CONSTANTS = {
    "io_least": 1e6,  # bytes/s of a group, each way
    "io_used": 2e5,  # bytes/s from which a group uses its disk
    "io_grow": 1.25,
    "io_rest_s": 30.0,  # before a level that failed is tried again; doubles
}
TRIAL, HELD = "trial", "held"
State = dict[str, Any]


def begun(now: Look, c: Mapping[str, float], size: float) -> tuple[State, list[Change]] | None:
    """The trial; None where no group uses a disk that can be limited.

    Args:
        now: the newest look.
        c: constants.
        size: share of late requests that the least quota has left.
    """
    used = {name: group.signal("io") for name, group in now.best_effort.items()}
    busy = {name: round(bps) for name, bps in used.items() if bps and bps >= c["io_used"]}
    free = {name: now.groups[name] for name in busy if now.groups[name].allocation.io is None}
    if not free:
        return None
    total = sum(busy[name] for name in free)
    why = (
        f"less CPU time has not helped; best-effort work moves {total / 1e6:.3g} MB/s on the disk: "
        f"limited to {c['io_least'] / 1e6:.3g} MB/s to see whether that is the cause"
    )
    state = {"is": TRIAL, "size": size, "at": now.t_s, "used": {name: busy[name] for name in free}}
    return state, for_all(free, "io", level=c["io_least"], why=why)


def resumed(now: Look, c: Mapping[str, float]) -> State | None:
    """Limits that are in force where nothing is remembered, as after a pause; None: there are none.

    They grow while the target holds, as after a trial, and go at twice what they are.
    """
    levels = {name: group.allocation.io for name, group in now.best_effort.items()}
    used = {name: level for name, level in levels.items() if level}
    if not used:
        return None
    return _held(now, c, {"size": 0.0, "at": now.t_s, "used": used})


def _held(now: Look, c: Mapping[str, float], state: State) -> State:
    """The same limits, held until a first rest is over."""
    rest_s = c["io_rest_s"]
    return {**state, "is": HELD, "rest_s": rest_s, "until": now.t_s + rest_s}


def judged(
    now: Look, c: Mapping[str, float], state: State, missed: float | None, since: Iterable[Late]
) -> tuple[State | None, list[Change]]:
    """What follows from a trial: the limits are held, or go (state None), or it goes on.

    Args:
        now: the newest look.
        c: constants.
        state: of the trial.
        missed: share of late requests now, if the target is surely missed.
        since: late requests of each service since it began.
    """
    remains = c["remains"] * state["size"]
    if missed is not None and missed >= remains:
        why = f"{missed:.1%} of requests are late without the disk, too, so it is not the cause"
        return None, _free(now, state, why)
    if any(late.probability(remains) > c["fine"] for late in since):
        return state, []
    return _held(now, c, state), []


def grown(now: Look, c: Mapping[str, float], state: State) -> tuple[State | None, list[Change]]:
    """The next level up, for a target that holds without doubt; () while a level rests."""
    if now.t_s < state["until"]:
        return state, []
    changes: list[Change] = []
    for name, used in state["used"].items():
        group = now.groups.get(name)
        if group is None or group.allocation.io is None:
            continue
        level = round(group.allocation.io * c["io_grow"])
        why = f"no doubt that p99 is within the target: {level / 1e6:.3g} MB/s on the disk"
        wanted = None if level >= 2 * used else level
        changes += for_all({name: group}, "io", level=wanted, why=why)
    if all(change.level is None for change in changes):
        return None, changes
    return {**state, "grew_at": now.t_s, "before": _levels(now, state)}, changes


def back(now: Look, c: Mapping[str, float], state: State, why: str) -> tuple[State, list[Change]]:
    """The levels from before the last growth, because requests were late after it."""
    rest_s = min(c["rest_most_s"], 2 * state["rest_s"])
    changes = [
        change
        for name, level in state["before"].items()
        if name in now.groups
        for change in for_all(
            {name: now.groups[name]},
            "io",
            level=level,
            why=f"{why}: {level / 1e6:.3g} MB/s on the disk again",
        )
    ]
    state = {key: value for key, value in state.items() if key not in {"grew_at", "before"}}
    return {**state, "rest_s": rest_s, "until": now.t_s + rest_s}, changes


def _levels(now: Look, state: State) -> dict[str, float]:
    known = {name: now.groups[name].allocation.io for name in state["used"] if name in now.groups}
    return {name: level for name, level in known.items() if level is not None}


def _free(now: Look, state: State, why: str) -> list[Change]:
    groups = {name: now.groups[name] for name in state["used"] if name in now.groups}
    return for_all(groups, "io", level=None, why=why)
