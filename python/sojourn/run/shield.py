"""The shield: what keeps the server's CPUs for the server while it is measured (M32).

Decided once per life, put up after the server is filled and pinned, completed before each run
(threads that came meanwhile), and read back after it. What a result names is what was true at its
end. No right to it is no fault: the study goes on and says so.

    wish (study, phase, service, CPUs) → put_up → renew, run, look → … → the server ends

What is given to the server's threads ends with them, so nothing is left to be undone; what `move`
does to others is in `moving`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sojourn import knobs
from sojourn.host import Placement
from sojourn.host.tree import Tree
from sojourn.knobs import priority
from sojourn.places import proc
from sojourn.plan import Phase, Point, traced
from sojourn.plan.setting import NEIGHBOUR
from sojourn.plan.traced import NO_NEIGHBOUR
from sojourn.services import Service
from sojourn.services.capabilities import Running, is_instrument, needs
from sojourn.spec import ServiceSpec, Study

NONE, PRIORITY, MOVE = "none", "priority", "move"
NEARLY_FULL = 0.9  # share of the server's CPUs from which the kernel's limit has an effect
NAMED_MAX = 3
TREE = Tree()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shield:
    """What was in force.

    Attributes:
        why: of the priority, in words: what it is, or why there is none.
        facts_now: what was read back of it, as JSON; none: the threads do not have it.
        moved: what was moved off the server's CPUs (`moving.Moved.facts`); none: nothing was.
        could: the priority was not asked for and can be had here, so asking for it is an advice.
    """

    why: str = "nothing was started that could be shielded"
    facts_now: Mapping[str, Any] = field(default_factory=dict)
    moved: Mapping[str, Any] = field(default_factory=dict)
    could: bool = False

    @property
    def name(self) -> str:
        """The shield's name: "none", "priority", "move"."""
        if self.moved and any(self.moved[key] for key in ("tasks", "interrupts", "kernel_work")):
            return MOVE
        return PRIORITY if self.facts_now else NONE

    @property
    def text(self) -> str:
        """What it was, in words."""
        return "; ".join(filter(None, (self.why, _left(self.moved))))

    def as_json(self) -> dict[str, Any]:
        """The keys that say what shielded, and why, in `service.json`."""
        facts = {**self.facts_now, **({"moved": dict(self.moved)} if self.moved else {})}
        could = {"shield_could": True} if self.could else {}
        return {"shield": self.name, "shield_why": self.text, "shield_facts": facts, **could}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a life is to have.

    Attributes:
        name: of the shield that the study asks for and the point allows.
        refused: why the server's threads get no priority; "" if they do.
        could: the study asks for none, and nothing else is against the priority.
    """

    name: str
    refused: str = ""
    could: bool = False


def wish(study: Study, spec: ServiceSpec, point: Point, service: Service, where: Placement) -> Wish:
    """Which shield a life gets; all points of a life get the same one.

    Args:
        study: that asks for it.
        spec: of the service.
        point: the life's first.
        service: settled.
        where: it will run.
    """
    asked = study.run.shield
    if asked == NONE:
        run = study.run.model_copy(update={"shield": PRIORITY})
        other = wish(study.model_copy(update={"run": run}), spec, point, service, where)
        return Wish(name=NONE, refused="the study asks for none", could=not other.refused)
    if why := _not_ours(service) or _unwanted(point):
        return Wish(name=NONE, refused=why)
    if set(where.server) & {*where.client, *where.housekeeping}:
        return Wish(
            name=NONE, refused="server and client share a CPU: the server would stop the client"
        )
    if is_instrument(service):
        return Wish(
            name=NONE,
            refused="the service is part of the instrument, and the instrument logs its outages",
        )
    if _is_about_company(study, spec, point):
        return Wish(name=NONE, refused="some of these runs are about a task on the server's CPU")
    turns = _turns(needs(service).workers, len(where.server))
    return Wish(name=asked, refused=_ordered(spec) or turns)


def _not_ours(service: Service) -> str:
    """Why a service that runs already has none; "" if the lab started it."""
    is_foreign = isinstance(service, Running)
    return "it is not the lab's, and nothing of it is changed" if is_foreign else ""


def _unwanted(point: Point) -> str:
    """Why points of this phase are to have none; "" if they may."""
    if point.rules.is_bare:
        return "this run shows what the machine's own scheduling does"
    return (
        "knobs are turned, and a priority would escape some of them"
        if point.rules.is_turned
        else ""
    )


def _ordered(spec: ServiceSpec) -> str:
    """Why a service whose knobs order its threads gets no priority; "" if none does.

    A real-time thread is bound by no quota and no weight, so it would escape what is measured.
    """
    ordering = [name for name in spec.knobs if knobs.kind(name).orders]
    return f"its knob {ordering[0]} says how the kernel orders its threads" if ordering else ""


def _is_about_company(study: Study, spec: ServiceSpec, point: Point) -> bool:
    """Whether this point, or one that it is compared with, has a neighbour.

    A point's setting names its neighbour where the study varies it: then those without one have no
    shield either, or else it is the shield that is compared.
    """
    if point.phase is Phase.TRACE:  # its setting always names one
        return study.neighbour != NO_NEIGHBOUR or traced.disturbs(study, spec)
    return study.neighbour != NO_NEIGHBOUR or NEIGHBOUR in point.setting


def _turns(workers: int, cpus: int) -> str:
    """Why workers that share a CPU must not be given the priority; "" if none do."""
    if workers <= cpus:
        return ""
    return (
        f"{workers} workers take turns on {cpus} CPU{'s' if cpus > 1 else ''}: real-time turns of "
        "100 ms would replace the kernel's fair ones of a few ms, and change the answer"
    )


def put_up(wished: Wish, leader: int, cpus: tuple[int, ...]) -> Shield:
    """Give all threads of the session of `leader` the priority, if that is wished and can be had.

    Args:
        wished: for this life.
        leader: first process of the server.
        cpus: of the server.
    """
    if wished.name == NONE or wished.refused:
        return Shield(why=wished.refused, could=wished.could and priority.is_allowed())
    try:
        threads = priority.give(leader)
    except priority.RefusedError as refused:
        return Shield(why=str(refused))
    inputs = {
        "policy": priority.name(priority.POLICY),
        "priority": priority.PRIORITY,
        "threads": threads,
        **limits(TREE, cpus),
    }
    return Shield(why=_shield_text(inputs), facts_now=inputs)


def renew(shield: Shield, wished: Wish, leader: int, cpus: tuple[int, ...]) -> Shield:
    """Before a run: cover threads that came since, so that all are in one class."""
    return replace(put_up(wished, leader, cpus), moved=shield.moved)


def look(shield: Shield, leader: int, busy_share: float | None) -> Shield:
    """After a run: what was in force at its end, read back from every thread (M23).

    Args:
        shield: that was put up.
        leader: first process of the server.
        busy_share: share of its CPUs' time that the server used; None: not known.
    """
    if not shield.facts_now:
        return shield
    missing = priority.without(leader)
    threads = len(proc.tasks(leader))
    if missing or not threads:
        names = sorted({f"{task.name} ({priority.name(has.policy)})" for task, has in missing})
        what = ", ".join(names[:NAMED_MAX]) or "the server had ended"
        why = f"{len(missing)} of {threads} threads were without it at the end of the run: {what}"
        return Shield(why=why, moved=shield.moved)
    inputs = {**shield.facts_now, "threads": threads, "busy_share": busy_share}
    return replace(shield, why=_shield_text(inputs), facts_now=inputs)


def _left(moved: Mapping[str, Any]) -> str:
    """What `move` did, in words."""
    if not moved:
        return ""
    text = (
        f"{moved['tasks']} threads, {moved['interrupts']} interrupts and {moved['kernel_work']} "
        "kinds of kernel work moved off the server's CPUs"
    )
    refused = moved["refused"]
    more = f" and {len(refused) - NAMED_MAX} more" if len(refused) > NAMED_MAX else ""
    return text + (f", not {', '.join(refused[:NAMED_MAX])}{more}" if refused else "")


def _shield_text(facts: Mapping[str, Any]) -> str:
    text = f"all {facts['threads']} threads of the server at {facts['policy']} {facts['priority']}"
    busy = facts.get("busy_share")
    if busy is None:
        return text
    text += ", read back after the run"
    return f"{text}; {_limited(facts, busy)}" if busy > NEARLY_FULL else text


def _limited(facts: Mapping[str, Any], busy: float) -> str:
    """What the kernel does to real-time threads that leave others nothing."""
    head = f"the server used {busy:.0%} of its CPUs' time"
    runtime, period = facts.get("rt_runtime_us"), facts.get("rt_period_us")
    if runtime is None or period is None:
        return f"{head}, near which the kernel stops real-time threads; the limit is not known"
    if runtime < 0 or runtime >= period:
        return f"{head}, and nothing limits real-time threads: others may have starved"
    return (
        f"{head}, and above {runtime / period:.0%} the kernel stops real-time threads, for up to "
        f"{(period - runtime) / 1000:.0f} ms in every {period / 1e6:.3g} s, for those that wait"
    )


def limits(tree: Tree, cpus: tuple[int, ...]) -> dict[str, Any]:
    """What the kernel keeps for others beside real-time threads; null: not told.

    Before 6.12 real-time threads are stopped when they have used `rt_runtime_us` of
    `rt_period_us`, whether others wait or not; since then a deadline server lets ordinary threads
    that starve have their share first (kernel/sched/deadline.c, fair_server).
    """
    fair = f"/sys/kernel/debug/sched/fair_server/cpu{cpus[0] if cpus else 0}"
    return {
        "rt_runtime_us": tree.number("/proc/sys/kernel/sched_rt_runtime_us"),
        "rt_period_us": tree.number("/proc/sys/kernel/sched_rt_period_us"),
        "rr_timeslice_ms": tree.number("/proc/sys/kernel/sched_rr_timeslice_ms"),
        "fair_runtime_ns": tree.number(f"{fair}/runtime"),
        "fair_period_ns": tree.number(f"{fair}/period"),
    }
