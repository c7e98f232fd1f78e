"""Two stand-ins on one CPU: shares of both, what one takes while the other sleeps, and who waits.

    share     both want all of the CPU: CPU time of each by window
    sleeps    the first sleeps, the second wants all of it
    wake      one that sleeps and wakes beside a hog, under two values of the level's own parameter

Each takes one to two seconds. Nothing is judged here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sojourn.errors import Fault
from sojourn.host.activity import STEAL, TICKS_PER_S, cpu_ticks
from sojourn.host.tree import Tree
from sojourn.knobs import Knob, Offered, Turned, ordered, policy_level, rt_quota
from sojourn.knobs.attr import FIFO, RR, Attr
from sojourn.questions.scheduler_bakeoff.property.stand_in import HOG, WAKER, StandIn, under

WINDOWS, WINDOW_S = 10, 0.12  # five periods of 24 ms
WAKES, GAP_S = 300, 0.002  # 0.6 s
HEAR_S, LEAD_S = 8.0, 0.05
BUSY = (0, 1, 2, 5, 6)  # user, nice, system, irq, softirq (proc(5))
LEVEL = "policy"
TREE = Tree()
HOG_PRIORITY = 10
NONE, OTHER, USUAL_NICE = "none", "other", "nice:0"
IDLE_WEIGHT = 3 / 1024
_TIME = re.compile(r"\d+(\.\d+)?(us|ms)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureInputs:
    """What is measured, and where.

    Attributes:
        labels: of both services; the first is the one that goes before.
        levels: of their knobs, by label.
        on: what the first one's knobs are on.
        offered: to both, for levels that follow from it.
        cpu: that the stand-ins want.
    """

    labels: tuple[str, str]
    levels: Mapping[str, Mapping[str, str]]
    on: Turned
    offered: Mapping[str, Offered]
    cpu: int


def measured(inputs: MeasureInputs) -> dict[str, Any]:
    """All three, as they stand in `properties.json`; what the machine refused is told in place."""
    table: dict[str, Any] = {
        "labels": list(inputs.labels),
        "levels": {label: dict(of) for label, of in inputs.levels.items()},
        "cpu": inputs.cpu,
        "window_s": WINDOW_S,
    }
    for name, find in (("share", _share), ("sleeps", _sleeps), ("wake", _wake)):
        try:
            table[name] = find(inputs)
        except (Fault, OSError) as error:
            table[name] = {"refused": getattr(error, "what", "") or str(error)}
    return table


def _share(inputs: MeasureInputs) -> dict[str, Any]:
    """Both want all of the CPU."""
    first, second = inputs.labels
    with (
        StandIn(HOG, WINDOWS, WINDOW_S) as one,
        StandIn(HOG, WINDOWS, WINDOW_S) as other,
        _on(one, first, inputs) as own,
        _on(other, second, inputs) as the_others,
    ):
        asked = shares_asked(
            (inputs.levels[first], inputs.levels[second]), (budget_of(own), budget_of(the_others))
        )
        before = cpu_ticks(TREE, inputs.cpu)
        began = time.monotonic() + LEAD_S
        one.go(began)
        other.go(began)
        used = [probe.hear(HEAR_S).get("used_s", []) for probe in (one, other)]
        after = cpu_ticks(TREE, inputs.cpu)
    others, steal = _others(before, after, sum(map(sum, used)))
    shares = [[round(s / WINDOW_S, 5) for s in each] for each in used]
    return {"got": shares, "asked": asked, "others": others, "steal": steal}


def _sleeps(inputs: MeasureInputs) -> dict[str, Any]:
    """The first has all it was granted, and sleeps."""
    first, second = inputs.labels
    with (
        StandIn(HOG, WINDOWS, WINDOW_S) as one,
        StandIn(HOG, WINDOWS, WINDOW_S) as other,
        _on(one, first, inputs),
        _on(other, second, inputs),
    ):
        before = cpu_ticks(TREE, inputs.cpu)
        other.go(time.monotonic() + LEAD_S)
        used = other.hear(HEAR_S).get("used_s", [])
        after = cpu_ticks(TREE, inputs.cpu)
    others, steal = _others(before, after, sum(used))
    return {"got": [round(s / WINDOW_S, 5) for s in used], "others": others, "steal": steal}


def _wake(inputs: MeasureInputs) -> dict[str, Any]:
    """One that wakes up beside a hog, under two values of the parameter."""
    first, second = inputs.labels
    level = inputs.levels[first].get(LEVEL, OTHER)
    values, hog = variants(level, inputs.levels[second].get(LEVEL, OTHER))
    results = []
    for value in values:
        levels = {**inputs.levels[first], LEVEL: value}
        against = {**inputs.levels[second], LEVEL: hog}
        count = round(WAKES * GAP_S / WINDOW_S) + 1
        with (
            StandIn(WAKER, WAKES, GAP_S) as waker,
            StandIn(HOG, count, WINDOW_S) as other,
            _on(waker, first, inputs, levels),
            _on(other, second, inputs, against),
        ):
            began = time.monotonic() + LEAD_S
            other.go(began)
            waker.go(began)
            late = waker.hear(HEAR_S).get("late_s", [])
            results.append({"level": value, "late_ns": [max(0, round(s * 1e9)) for s in late]})
    return {"hog": hog, "runs": results, "is_coupled": level.startswith("nice")}


def _on(
    probe: StandIn, label: str, inputs: MeasureInputs, levels: Mapping[str, str] | None = None
) -> AbstractContextManager[Mapping[str, Knob]]:
    """Put a stand-in on the CPU, under a service's levels or others."""
    probe.on({inputs.cpu})
    of = inputs.levels[label] if levels is None else levels
    return under(probe, label, of, inputs.on, inputs.offered)


def variants(level: str, beside: str) -> tuple[tuple[str, ...], str]:
    """Two values of a level's own parameter, or the level alone, and the hog's level.

    A real-time hog is of the same class, so that the priority decides.

    >>> variants("nice:-20", "other"), variants("other", "other")
    ((('nice:0', 'nice:-20'), 'other'), (('other',), 'other'))
    >>> variants("fifo:rate", "fifo:rate"), variants("slice:3ms", "other")
    ((('fifo:9', 'fifo:11'), 'fifo:10'), (('slice:100ms', 'slice:0.1ms'), 'other'))
    """
    word, _, value = level.partition(":")
    if word in {"fifo", "rr"}:
        return (
            f"{word}:{HOG_PRIORITY - 1}",
            f"{word}:{HOG_PRIORITY + 1}",
        ), f"{word}:{HOG_PRIORITY}"
    hog = beside.replace(f":{policy_level.RATE}", f":{policy_level.LOWEST}")
    if word == "nice":
        return (USUAL_NICE, level), hog
    if word == "slice":
        return ("slice:100ms", "slice:0.1ms"), hog
    if word == "bvt" and _TIME.search(value):  # without its warp, and with it
        return (_TIME.sub("0ms", level, count=1), level), hog
    return (level,), hog


def budget_of(knobs: Mapping[str, Knob]) -> float | None:
    """The share of a CPU that a real-time budget leaves, 0 to 1; None: there is none."""
    knob = knobs.get(rt_quota.NAME)
    if not isinstance(knob, rt_quota.RtQuota) or knob.group is None:
        return None
    runtime, period = knob.read_back(knob.group)
    return runtime / period if runtime else None


def shares_asked(
    levels: tuple[Mapping[str, str], Mapping[str, str]], budgets: tuple[float | None, float | None]
) -> list[float | None]:
    """The share of a CPU that each of two levels names, where both want it; None: it names none.

    >>> shares_asked(({"policy": "nice:0"}, {}), (None, None))
    [0.5, 0.5]
    >>> shares_asked(({"policy": "fifo:2"}, {"policy": "fifo:1"}), (0.45, None))
    [0.45, None]
    """
    each = [policy_level.meant(_level(of)) for of in levels]
    weights = [_weight(wanted, of) for wanted, of in zip(each, levels, strict=True)]
    values: list[float | None] = []
    for wanted, budget, weight in zip(each, budgets, weights, strict=True):
        if wanted.policy in (FIFO, RR):
            values.append(budget)
        elif wanted.period:
            values.append(wanted.runtime / wanted.period)
        else:
            known = [w for w in weights if w is not None]
            values.append(weight / sum(known) if weight is not None and len(known) == 2 else None)
    return values


def _level(levels: Mapping[str, str]) -> str:
    """The policy, as far as this kernel's own classes know it; a scheduler of ours is fair."""
    level = levels.get(LEVEL, OTHER)
    return level if level.partition(":")[0] in {*policy_level.WORDS, "nice", "slice"} else OTHER


def _weight(wanted: Attr, levels: Mapping[str, str]) -> float | None:
    """Of a fair policy and its group, against 1; None: it is not fair."""
    if wanted.policy in (FIFO, RR) or wanted.period:
        return None
    group = levels.get("cpu_weight", NONE)
    idle = IDLE_WEIGHT if levels.get("cpu_idle", NONE) != NONE else 1.0
    of_group = 1.0 if group == NONE else float(group) / 100
    return idle * of_group * ordered.expected(wanted)


def _others(
    before: tuple[int, ...], after: tuple[int, ...], own_s: float
) -> tuple[float | None, float | None]:
    """Shares of the CPU that others than the stand-ins used, and that the host took."""
    delta = [b - a for a, b in zip(before, after, strict=True)]
    whole = sum(delta) / TICKS_PER_S
    if whole <= 0:
        return None, None
    used = sum(delta[field] for field in BUSY) / TICKS_PER_S
    return max(0.0, used - own_s) / whole, delta[STEAL] / TICKS_PER_S / whole
