"""Whether a service meets its target while best effort is capped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sojourn.controllers.evidence import LATE, probability
from sojourn.controllers.look import Group
from sojourn.controllers.posterior import CONSTANTS

Verdict = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Whether it does, and why."""

    verdict: Verdict
    why: str


def answer(group: Group) -> Answer:
    """What the windows of a service allow to say; the longest speaks first."""
    known = Answer(verdict="unknown", why="no window says enough")
    for window in sorted(group.windows, key=lambda one: -one.length_ms):
        chance = probability(window, LATE)
        if chance is not None:
            why = f"{window.above} of {window.n} requests were late"
            if 1 - chance <= CONSTANTS["fine"]:
                return Answer(verdict="no", why=why)
            if chance <= CONSTANTS["fine"] and known.verdict == "unknown":
                known = Answer(verdict="yes", why=why)
        elif window.lo_ns is not None and window.lo_ns > (group.target_ns or 0):
            return Answer(verdict="no", why=f"its p99 is above {window.lo_ns / 1e6:.3g} ms")
        elif window.hi_ns is not None and window.hi_ns < (group.target_ns or 0):
            known = Answer(verdict="yes", why=f"its p99 is below {window.hi_ns / 1e6:.3g} ms")
    return known
