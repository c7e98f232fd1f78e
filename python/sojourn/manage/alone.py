"""Whether a service meets its target while best effort is capped."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from sojourn.controllers.evidence import LATE, OVERLAP, Late
from sojourn.controllers.look import Group, Look, Window
from sojourn.controllers.posterior import CONSTANTS

Verdict = Literal["yes", "no", "unknown"]
_SIDES: tuple[tuple[Verdict, str], ...] = (("no", "above"), ("yes", "below"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Whether it does, and why."""

    verdict: Verdict
    why: str


@dataclass(slots=True)
class _Seen:
    """Windows of one service, one after the other.

    Attributes:
        end_s: of the newest, on the clock of the looks.
        late: requests of those that count late ones.
        sides: how many of the others have their p99 without doubt above the target, or below it.
    """

    end_s: float
    late: Late = field(default_factory=Late)
    sides: Counter[Verdict] = field(default_factory=Counter)


class Alone:
    """What windows say that began after the caps were set, all of them together.

    A stall makes many requests late at once, in one window of many. So late requests are added up
    with their dispersion, and of windows that have an interval of p99 alone most must agree.
    """

    def __init__(self) -> None:
        """No look was taken yet; the caps are set."""
        self._seen: dict[str, _Seen] = {}

    def add(self, look: Look) -> None:
        """Take the longest new window of each service; of one that begins before, nothing."""
        for name, group in look.critical.items():
            seen = self._seen.setdefault(name, _Seen(look.t_s))
            after = (one for one in group.windows if _begin_s(one, look) >= seen.end_s)
            if fit := [one for one in after if _says_something(one)]:
                window = max(fit, key=lambda one: one.length_ms)
                seen.end_s = look.t_s - window.age_ms / 1000
                _count(window, group, seen)

    def answers(self) -> dict[str, Answer]:
        """Of each service that was there."""
        return {name: _answer(seen) for name, seen in self._seen.items()}


def _begin_s(window: Window, look: Look) -> float:
    """When a window began; a little later: windows do not end at the looks' times."""
    length_s = window.length_ms / 1000
    return look.t_s - window.age_ms / 1000 - (1 - OVERLAP) * length_s


def _says_something(window: Window) -> bool:
    """Whether it counts late requests, or has an end of the interval of its p99."""
    return any(one is not None for one in (window.above, window.lo_ns, window.hi_ns))


def _count(window: Window, group: Group, seen: _Seen) -> None:
    target_ns = group.target_ns or 0.0
    if window.above is not None:
        seen.late = seen.late.plus(window) if window.n else seen.late
    elif window.lo_ns is not None and window.lo_ns > target_ns:
        seen.sides["no"] += 1
    elif window.hi_ns is not None and window.hi_ns < target_ns:
        seen.sides["yes"] += 1
    else:
        seen.sides["unknown"] += 1


def _answer(seen: _Seen) -> Answer:
    if seen.late.n:
        chance, why = seen.late.probability(LATE), f"{seen.late.above:.0f} of {seen.late.n:.0f}"
        sure: Verdict = "no" if 1 - chance <= CONSTANTS["fine"] else "unknown"
        verdict: Verdict = "yes" if chance <= CONSTANTS["fine"] else sure
        return Answer(verdict=verdict, why=f"{why} requests were late")
    for side, what in _SIDES:
        count, of = seen.sides[side], seen.sides.total()
        if count > of / 2:
            return Answer(verdict=side, why=f"p99 of {count} of {of} windows is {what} the target")
    return Answer(verdict="unknown", why="no window says enough")
