"""Acts on the tail when its windows allow a statement; on waiting threads at once.

Source: of this lab. Windows of n requests of which a were later than the target say about the true
share of late requests what a Beta(a + ½, n − a + ½) says (Jeffreys' prior), after both counts were
divided by the dispersion of a between windows (`evidence`). The target holds while that share is at
most 1 %. A margin is left: it acts at 0.65 % already. So:

1. First the knob that takes no CPU time from best-effort groups: `idle`.
2. Threads of the service that wait for a CPU for more than a part of the target: the quota goes
   down to 0.6 of what is used, at once. This is seen before any request is late.
3. The probability of a violation, over the last windows (three at least, each of them late) and
   over all seconds at this load (two minutes at most), all since the last change: at least
   1 − 10⁻⁶ takes CPU time away. The bound is strict because it is asked ten times a second.
4. If the least quota leaves at least half of the late requests, or of the wait, the job is not the
   cause. It gets back what the step took. That step then rests for a time that doubles, while the
   load is like this and there is no more than twice as much of it as without the job.
5. Where it is at most 10⁻³ over the longest window, all of it after the last change, a quota
   grows. It does not grow to a level that failed at this load, until a rest is over that doubles.

Between 3 and 5 nothing is known well enough, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.controllers.evidence import LATE, Late, load_library, probability, runs, shortest
from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Change, Decision, Group, History, Look, Window, for_all

CONSTANTS = {
    "late": 0.65 * LATE,  # share of late requests that is acted on, before it is that of the target
    "sure": 1e-6,  # probability that the target holds, below which it is violated
    "fine": 1e-3,  # probability of a violation, below which a quota may grow
    "wait_part": 0.25,  # of the target: run-queue delay that is acted on
    "wait_rest_s": 0.1,  # between two such steps
    "shrink": 0.6,
    "grow": 1.25,
    "least_cpus": 0.05,
    "rest_s": 30.0,  # before a level that failed is tried again; doubles
    "rest_most_s": 3600.0,
    "pool_s": 120.0,  # of seconds that are added up; more counts half
    "load_lower": 0.8,  # of the load at a failure: below, levels may be tried again
    "trial_s": 3.0,  # at the least quota, before the job counts as not the cause
    "clear_rest_s": 300.0,  # before a job that was not the cause may be tried again; doubles
    "remains": 0.5,  # share of late requests that remains without the job, if that is not the cause
}
SECOND_MS = 1000
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


def decide(history: History) -> Decision:
    """Idle first; then waiting threads; then the tail."""
    now, memory = history.now, dict(history.memory)
    if not now.best_effort or not now.critical:
        return Decision(memory=memory)
    if "since" not in memory:
        memory["since"] = now.t_s
        why = "work-conserving: best-effort work runs when no other task wants the CPU"
        return Decision(
            changes=tuple(for_all(now.best_effort, "idle", level=True, why=why)), memory=memory
        )
    waiting = _waiting(history)
    if waiting and not _is_cleared(history, memory, waiting):
        if now.t_s - float(memory["since"]) >= history.constants["wait_rest_s"]:
            return _tried(history, memory, waiting)
        return Decision(memory=memory)
    memory["pools"] = {name: _pooled(history, name) for name in now.critical}
    violations = [_violated(history, name, memory["pools"][name]) for name in now.critical]
    if guilty := [one for one in violations if one and not _is_cleared(history, memory, one)]:
        return _tried(history, memory, guilty[0])
    return _grown(history, memory)


def _waiting(history: History) -> Violation | None:
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


def _pooled(history: History, name: str) -> dict[str, float]:
    """Requests and late ones of a service at this load since the last change, second by second."""
    now, c = history.now, history.constants
    noted = history.memory.get("pools", {}).get(name)
    pool, at_s = (Late.of_json(noted), float(noted["at"])) if noted else (Late(), -1.0)
    fresh = _fresh(history, now.groups[name])
    second = next((w for w in fresh if w.length_ms == SECOND_MS and w.above is not None), None)
    if second is None or now.t_s - at_s < 1 - 1e-6:
        return {**pool.as_json(), "at": at_s}
    usual = pool.n / max(1.0, pool.windows)
    if pool.windows and abs(second.n - usual) > (1 - c["load_lower"]) * usual:
        pool = Late()  # another load: what was seen before says little
    if pool.windows >= c["pool_s"]:
        pool = pool.halved()
    return {**pool.plus(second).as_json(), "at": now.t_s}


def _violated(history: History, name: str, pool: Mapping[str, float]) -> Violation | None:
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
    pooled = Late.of_json(pool)
    if pooled.windows >= RUN_MIN and pooled.share > late:
        yield pooled


def _is_fine(history: History, group: Group) -> bool:
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


def _is_cleared(history: History, memory: Mapping[str, Any], seen: Violation) -> bool:
    """Whether the job is known not to be the cause of as much of this at this load."""
    now, c = history.now, history.constants
    cleared = memory.get("cleared", {}).get(seen.sign)
    if not cleared or seen.size is None or now.t_s >= cleared["until"]:
        return False
    if c["remains"] * seen.size > cleared["size"]:
        return False  # more than without the job
    lower, load = c["load_lower"], float(cleared["load"])
    return lower * load < _load(now) < load / lower


def _tried(history: History, memory: dict[str, Any], seen: Violation) -> Decision:
    """Takes CPU time away; gives it back where even the least quota leaves what was seen."""
    now, c = history.now, history.constants
    quota = _quota(now)
    trial = {"quota": quota, **memory.get("trial", {})}
    trial.setdefault(seen.sign, seen.size)  # of the first cut for this
    memory["trial"] = trial
    if quota > c["least_cpus"]:
        return _shrunk(history, memory, seen.why)
    if now.t_s - float(memory["since"]) < c["trial_s"]:
        return Decision(memory=memory)  # what had queued up before is late too
    remains = seen.size is not None and seen.size >= c["remains"] * (trial[seen.sign] or 1.0)
    if not remains or trial["quota"] <= quota:
        return _shrunk(history, memory, seen.why)
    return _restored(history, memory, seen)


def _restored(history: History, memory: dict[str, Any], seen: Violation) -> Decision:
    """The quota from before the cuts, because they did not help; notes what remained without."""
    now, c, trial = history.now, history.constants, memory.pop("trial")
    rests = memory.get("clear_rest_s", {})
    rest_s = min(c["rest_most_s"], 2 * float(rests.get(seen.sign, c["clear_rest_s"] / 2)))
    noted = {"load": _load(now), "size": seen.size, "until": now.t_s + rest_s}
    memory.update(
        since=now.t_s,
        pools={},
        clear_rest_s={**rests, seen.sign: rest_s},
        cleared={**memory.get("cleared", {}), seen.sign: noted},
    )
    memory.pop("failed", None)
    why = (
        f"{seen.why} with {_quota(now):.2f} CPUs for best-effort work too, so it is not the cause: "
        f"its quota is {trial['quota']:.2f} CPUs again"
    )
    level = None if trial["quota"] >= now.cpus else trial["quota"]
    changes = for_all(now.best_effort, "quota", level=level, why=why)
    return Decision(changes=tuple(changes), memory=memory)


def _shrunk(history: History, memory: dict[str, Any], why: str) -> Decision:
    now, c = history.now, history.constants
    quota, used = _quota(now), _used(now)
    level = round(max(c["least_cpus"], min(quota, used) * c["shrink"]), 4)
    memory["since"] = now.t_s
    memory["pools"] = {}
    if level >= quota:
        return Decision(memory=memory)
    grew = memory.pop("grew_at", None)
    rest = float(memory.get("rest_s", c["rest_s"] / 2))
    memory["rest_s"] = min(c["rest_most_s"], rest * 2) if grew is not None else c["rest_s"]
    memory["failed"] = {"quota": quota, "load": _load(now), "until": now.t_s + memory["rest_s"]}
    text = f"{why}: best-effort quota {quota:.2f} → {level:.2f} CPUs"
    return Decision(
        changes=tuple(for_all(now.best_effort, "quota", level=level, why=text)), memory=memory
    )


def _grown(history: History, memory: dict[str, Any]) -> Decision:
    now, c = history.now, history.constants
    quota = _quota(now)
    if quota >= now.cpus or not all(_is_fine(history, g) for g in now.critical.values()):
        return Decision(memory=memory)
    wanted = min(float(now.cpus), quota * c["grow"])
    failed = memory.get("failed")
    if failed and _is_barred(now, failed, wanted, c["load_lower"]):
        return Decision(memory=memory)
    level = None if wanted >= now.cpus else round(wanted, 4)
    memory.update(since=now.t_s, grew_at=now.t_s, pools={})
    memory.pop("trial", None)
    why = (
        f"no doubt that p99 is within the target: best-effort quota {quota:.2f} → {wanted:.2f} CPUs"
    )
    changes: list[Change] = for_all(now.best_effort, "quota", level=level, why=why)
    return Decision(changes=tuple(changes), memory=memory)


def _is_barred(now: Look, failed: Mapping[str, float], wanted: float, lower: float) -> bool:
    """Whether a level has failed at a load like this, and the rest is not over."""
    is_resting = now.t_s < failed["until"] and wanted >= failed["quota"]
    return is_resting and _load(now) > lower * failed["load"]


def _quota(look: Look) -> float:
    quotas = [group.allocation.quota for group in look.best_effort.values()]
    return max((float(look.cpus) if q is None else q for q in quotas), default=0.0)


def _used(look: Look) -> float:
    """CPUs that best-effort groups use; all where that is not known."""
    uses = [group.signal("cpu") for group in look.best_effort.values()]
    return sum(float(look.cpus) if use is None else use for use in uses)


def _load(look: Look) -> float:
    """Requests/s of all services, by their longest windows."""
    longest = [
        max(g.windows, key=lambda w: w.length_ms) for g in look.critical.values() if g.windows
    ]
    return sum(window.n / window.length_ms * 1000 for window in longest)


def _s(window: Window) -> str:
    return f"{window.length_ms / 1000:g} s"


KIND = ControllerKind(
    name="posterior",
    about="acts when windows are sure of a violation, or threads wait; prefers idle to caps",
    source="of this lab",
    needs=("tail", "quota", "idle"),
    constants=CONSTANTS,
    prepare=load_library,
    decide=decide,
)
