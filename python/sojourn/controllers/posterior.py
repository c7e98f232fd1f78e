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
4. If the least quota leaves at least half of the late requests, or of the wait, the job's CPU time
   is not the cause. It gets back what the step took. That step then rests for a time that doubles,
   while the load is like this and there is no more than twice as much of it as without the job.
   If the job uses a disk that can be limited, that is tried next (`disk_step`).
5. Where it is at most 10⁻³ over the longest window, all of it after the last change, a quota
   grows. It does not grow to a level that failed at this load, until a rest is over that doubles.
   Where too few requests come to say so, or none, it grows each two minutes (`quiet`).

Several best-effort groups have one quota together, in equal parts.

Between 3 and 5 nothing is known well enough, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.controllers import disk_step, quiet
from sojourn.controllers.evidence import LATE, Late, load_library
from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Change, Decision, History, Look, for_all, parts, quotas
from sojourn.controllers.violation import (
    LATENESS,
    Violation,
    is_cleared,
    is_fine,
    load,
    pooled,
    violated,
    waiting,
)

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
    "quiet_s": 120.0,  # with too few requests for one window to say that the target holds
    "pool_s": 120.0,  # of seconds that are added up; more counts half
    "load_lower": 0.8,  # of the load at a failure: below, levels may be tried again
    "trial_s": 3.0,  # at the least quota, before the job counts as not the cause
    "clear_rest_s": 300.0,  # before a job that was not the cause may be tried again; doubles
    "remains": 0.5,  # share of late requests that remains without the job, if that is not the cause
    **disk_step.CONSTANTS,
}


def decide(history: History) -> Decision:
    """Idle first; then waiting threads; then the tail."""
    now, memory = history.now, dict(history.memory)
    if not now.best_effort or not now.critical:
        return Decision(memory=memory)
    if "since" not in memory:
        memory["since"] = now.t_s
        if held := disk_step.resumed(now, history.constants):
            memory["disk"] = held
        why = "work-conserving: best-effort work runs when no other task wants the CPU"
        return Decision(
            changes=tuple(for_all(now.best_effort, "idle", level=True, why=why)), memory=memory
        )
    wait = waiting(history)
    if wait and not is_cleared(history, memory, wait):
        if now.t_s - float(memory["since"]) >= history.constants["wait_rest_s"]:
            return _tried(history, memory, wait)
        return Decision(memory=memory)
    memory["pools"] = {name: pooled(history, name) for name in now.critical}
    memory["quiet"] = {name: quiet.added(history, name) for name in now.critical}
    violations = [violated(history, name, memory["pools"][name]) for name in now.critical]
    decision = _of_disk(history, memory, next(filter(None, violations), None))
    if decision is None:
        guilty = [one for one in violations if one and not is_cleared(history, memory, one)]
        decision = _tried(history, memory, guilty[0]) if guilty else _grown(history, memory)
    return decision


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
    noted = {"load": load(now), "size": seen.size, "until": now.t_s + rest_s}
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
    changes = parts(now.best_effort, level, why)
    if seen.sign == LATENESS and "disk" not in memory:
        disk = disk_step.begun(now, c, seen.size or 0.0)
        if disk is not None:
            memory["disk"], more = disk
            changes += more
    return Decision(changes=tuple(changes), memory=memory)


def _of_disk(history: History, memory: dict[str, Any], seen: Violation | None) -> Decision | None:
    """The end of a trial, or the way back from a growth; None: neither is due."""
    now, c, disk = history.now, history.constants, memory.get("disk")
    if disk is None:
        return None
    since_s = now.t_s - float(memory["since"])
    if disk["is"] == disk_step.TRIAL:
        if since_s < c["trial_s"]:
            return Decision(memory=memory)
        missed = seen.size if seen else None
        since = [Late.of_json(pool) for pool in memory["pools"].values()]
        state, changes = disk_step.judged(now, c, disk, missed, since)
        if state and state["is"] == disk_step.HELD:  # the next time CPU time may be the cause
            memory.pop("cleared", None)
    elif seen is not None and "grew_at" in disk and disk["grew_at"] == memory["since"]:
        state, changes = disk_step.back(now, c, disk, seen.why)
    else:
        return None
    return _with_disk(now, memory, state, changes)


def _with_disk(
    now: Look, memory: dict[str, Any], state: disk_step.State | None, changes: list[Change]
) -> Decision:
    memory.pop("disk", None)
    if state is not None:
        memory["disk"] = state
    if changes:
        memory.update(since=now.t_s, pools={})
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
    memory["failed"] = {"quota": quota, "load": load(now), "until": now.t_s + memory["rest_s"]}
    text = f"{why}: best-effort quota {quota:.2f} → {level:.2f} CPUs"
    return Decision(changes=tuple(parts(now.best_effort, level, text)), memory=memory)


def _grown(history: History, memory: dict[str, Any]) -> Decision:
    now, c = history.now, history.constants
    quota, disk = _quota(now), memory.get("disk")
    levels = {group.allocation.quota for group in now.best_effort.values()}
    is_whole = quota >= now.cpus and len(levels) <= 1  # one that is back may be limited alone
    calm = memory["quiet"]
    fine = (is_fine(history, g) or calm[name]["is_calm"] for name, g in now.critical.items())
    if (is_whole and not disk) or not all(fine):
        return Decision(memory=memory)
    if is_whole and disk:
        return _with_disk(now, memory, *disk_step.grown(now, c, disk))
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
    return Decision(changes=tuple(parts(now.best_effort, level, why)), memory=memory)


def _is_barred(now: Look, failed: Mapping[str, float], wanted: float, lower: float) -> bool:
    """Whether a level has failed at a load like this, and the rest is not over."""
    is_resting = now.t_s < failed["until"] and wanted >= failed["quota"]
    return is_resting and load(now) > lower * failed["load"]


def _quota(look: Look) -> float:
    """CPUs that best-effort groups may use together: at most all."""
    if not look.best_effort:
        return 0.0
    known = quotas(look.best_effort)
    return float(look.cpus) if known is None else min(float(look.cpus), known)


def _used(look: Look) -> float:
    """CPUs that best-effort groups use; all where that is not known."""
    uses = [group.signal("cpu") for group in look.best_effort.values()]
    return sum(float(look.cpus) if use is None else use for use in uses)


KIND = ControllerKind(
    name="posterior",
    about="acts when windows are sure of a violation, or threads wait; prefers idle to caps",
    source="of this lab",
    needs=("tail", "quota", "idle"),
    constants=CONSTANTS,
    reads_p99=False,
    prepare=load_library,
    decide=decide,
)
