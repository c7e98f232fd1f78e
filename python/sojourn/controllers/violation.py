"""Whether the target is missed, as far as the windows of a service say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.controllers.evidence import Late, probability, runs, shortest
from sojourn.controllers.look import Group, History, Look, Window

SECOND_MS = 1000
NO_POOL = {**Late().as_json(), "at": -1.0, "end": -1.0, "s": 0.0}
NEAR = 0.05  # of a window's length: windows of a source do not end at the looks' times
LATENESS, WAIT = "late", "wait"  # signs that requests are too slow, or are about to be
TAIL_MIN = 3  # late requests without which nothing is reported about a violation
RUN_MIN = 3  # windows that a violation is read from: fewer do not say whether it was one stall


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Why best-effort work is cut.

    Attributes:
        sign: LATENESS or WAIT.
        size: share of late requests, or ms that threads wait; None where it is not counted.
    """

    why: str
    sign: str
    size: float | None


def waiting(history: History) -> Violation | None:
    """A service's threads wait too long for a CPU; None: they do not."""
    for name, group in history.now.critical.items():
        delay, target = group.signal("runq_delay_ms"), group.target_ns
        if delay is None or target is None:
            continue
        bound = history.constants["wait_part"] * target / 1e6
        if delay > bound:
            why = f"threads of {name} wait {delay:.2f} ms for a CPU, more than {bound:.2f} ms"
            return Violation(why=why, sign=WAIT, size=delay)
    return None


def _fresh(history: History, group: Group) -> list[Window]:
    """Windows that began after the last change."""
    since_s = history.now.t_s - float(history.memory["since"])
    return [w for w in group.windows if (w.length_ms + w.age_ms) / 1000 <= since_s + 1e-6]


def pooled(history: History, name: str) -> dict[str, float]:
    """Requests and late ones of a service at this load since the last change, second by second.

    Also the time of the look, the end of the newest window, and how many seconds they cover.
    """
    now, c = history.now, history.constants
    noted = history.memory.get("pools", {}).get(name) or NO_POOL
    is_due = now.t_s - float(noted["at"]) >= 1 - 1e-6
    second = _second(_fresh(history, now.groups[name])) if is_due else None
    if second is None:
        return dict(noted)
    pool, covered_s = Late.of_json(noted), float(noted["s"])
    end_s, length_s = now.t_s - second.age_ms / 1000, second.length_ms / 1000
    if end_s - length_s < float(noted["end"]) - NEAR * length_s:
        return dict(noted)  # it is in the pool, or a part of it
    usual = pool.n / covered_s if covered_s else 0.0
    if pool.windows and abs(second.n / length_s - usual) > (1 - c["load_lower"]) * usual:
        pool, covered_s = Late(), 0.0  # another load: what was seen before says little
    if covered_s >= c["pool_s"]:
        pool, covered_s = pool.halved(), covered_s / 2
    sums = pool.plus(second).as_json()
    return {**sums, "at": now.t_s, "end": end_s, "s": covered_s + length_s}


def _second(windows: Iterable[Window]) -> Window | None:
    """The window of a second that counts late requests; of a source without one, the next longer.

    Who asks each second gets windows of a little more than that.
    """
    least_ms = (1 - NEAR) * SECOND_MS
    fit = (one for one in windows if one.above is not None and one.length_ms >= least_ms)
    return min(fit, key=lambda one: one.length_ms, default=None)


def violated(history: History, name: str, pool: Mapping[str, float]) -> Violation | None:
    """The target is missed without doubt; None: that is not known."""
    c, group = history.constants, history.now.groups[name]
    for late in _lates(history, name, pool):
        chance = late.probability(c["late"])
        if 1 - chance <= c["sure"] and late.above >= TAIL_MIN:
            text = f"{late.above:.0f} of {late.n:.0f} requests of {name} were late"
            return Violation(why=text, sign=LATENESS, size=late.share)
    for window in _fresh(history, group):
        is_sure = window.lo_ns is not None and group.target_ns is not None
        if window.above is None and is_sure and (window.lo_ns or 0) > (group.target_ns or 0):
            text = f"p99 of {name} is above the target, with its interval, in {_s(window)}"
            return Violation(why=text, sign=LATENESS, size=None)
    return None


def _lates(history: History, name: str, pool: Mapping[str, float]) -> Iterator[Late]:
    """Late requests of the last windows and of the pool, where more than allowed were late."""
    late, since_s = history.constants["late"], float(history.memory["since"])
    windows = history.now.groups[name].windows
    is_short = any(window.length_ms < SECOND_MS for window in windows)
    short = shortest(history.looks, name, since_s)
    last = runs(short, RUN_MIN if is_short else 1, late)
    yield from (one for one in last if one.share > late)
    share = pool["above"] / pool["n"] if pool["n"] else 0.0
    if pool["windows"] >= RUN_MIN and share > late:
        yield Late.of_json(pool)


def is_fine(history: History, group: Group) -> bool:
    """Whether the longest window that the source has is fresh, and says that the target holds."""
    c = history.constants
    if not group.windows or group.target_ns is None:
        return False
    window = max(group.windows, key=lambda one: one.length_ms)
    if window not in _fresh(history, group):
        return False
    chance = probability(window, c["late"])
    if chance is not None:
        return chance <= c["fine"]
    return window.hi_ns is not None and window.hi_ns < group.target_ns


def is_cleared(history: History, memory: Mapping[str, Any], seen: Violation) -> bool:
    """Whether the job is known not to be the cause of as much of this at this load."""
    now, c = history.now, history.constants
    cleared = memory.get("cleared", {}).get(seen.sign)
    if not cleared or seen.size is None or now.t_s >= cleared["until"]:
        return False
    if c["remains"] * seen.size > cleared["size"]:
        return False  # more than without the job
    lower, usual = c["load_lower"], float(cleared["load"])
    return lower * usual < load(now) < usual / lower


def load(look: Look) -> float:
    """Requests/s of all services, by their longest windows."""
    longest = [
        max(g.windows, key=lambda w: w.length_ms) for g in look.critical.values() if g.windows
    ]
    return sum(window.n / window.length_ms * 1000 for window in longest)


def _s(window: Window) -> str:
    return f"{window.length_ms / 1000:g} s"
