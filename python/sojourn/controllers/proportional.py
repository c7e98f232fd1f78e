"""Proportional levels: the distance from the target moves them, down at once.

Source: a controller with an Intel copyright, seen by a search for its text only; its repository is
not known. levels += ⌊−8 · (latency − m · target) / (m · target)⌋; a rise waits for 3 good samples.
Its m was not read; 0.9 and 20 levels of a quota are this lab's.
"""

from __future__ import annotations

import math

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import OFF_CPUS, Decision, History, parts, quotas

CONSTANTS = {"every_s": 1.0, "gain": 8.0, "margin": 0.9, "good": 3.0, "levels": 20.0}


def decide(history: History) -> Decision:
    """One sample a second, of the service with the least slack."""
    now, c = history.now, history.constants
    slack = now.slack(round(c["every_s"] * 1000))
    if slack is None or not history.is_due("at", c["every_s"]):
        return Decision(memory=history.memory)
    over = (1 - slack - c["margin"]) / c["margin"]
    most = c["levels"]  # no step is larger; the distance may be infinite, which has no floor
    step = math.floor(min(max(-c["gain"] * over, -most), most))
    good = int(history.memory.get("good", 0)) + 1 if step > 0 else 0
    memory = {"at": now.t_s, "good": good}
    if step == 0 or (step > 0 and good < c["good"]):
        return Decision(memory=memory)
    levels = round(c["levels"])
    level = min(max(_level(history, levels) + step, 0), levels)
    why = f"p99 is {1 - slack:.2f} of the target: {step:+d} levels, {level} of {levels}"
    changes = parts(now.best_effort, max(OFF_CPUS, now.cpus * level / levels), why)
    return Decision(changes=tuple(changes), memory={**memory, "good": 0})


def _level(history: History, levels: int) -> int:
    known = quotas(history.now.best_effort)
    return levels if known is None else min(levels, round(known / history.now.cpus * levels))


KIND = ControllerKind(
    name="proportional",
    about="best-effort level moves with p99's distance from 0.9 of the target",
    source="Intel-style, by string search only",
    needs=("tail", "quota"),
    constants=CONSTANTS,
    window="every_s",
    decide=decide,
)
