"""Before the first point: are the CPUs that the server would get its own, or who disturbs them?

A machine that is not calm is waited for, up to a stated time. Then the study goes on all the same:
it owes an answer, and says in its record what the answer was disturbed by.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sojourn import services
from sojourn.host import Facts
from sojourn.host.preflight import Look, Target, look, summary
from sojourn.plan import design
from sojourn.run.session import placement
from sojourn.run.watch import Deadline, Event, Show
from sojourn.spec import QosRule, ServiceSpec, Study
from sojourn.units import parse_ns, show_s

LOOK_S, LOOK_S_QUICK = 10.0, 2.0
CALM_S, CALM_S_QUICK = 60.0, 20.0
REST_S = 1.0  # between looks, which keep the CPUs busy themselves
STEP = "preflight"

Names: TypeAlias = Callable[[Sequence[int]], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for the machine.

    Attributes:
        turn_s: for another study to end.
        calm_s: for what else runs to end; None: as the profile has it.
        is_forced: wait for neither, and go on.
    """

    turn_s: float = 0.0
    calm_s: float | None = None
    is_forced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What was found before the first point.

    Attributes:
        look: the last one; None: it was not looked.
        target: by which stops were judged.
        waited_s: for the machine to calm.
        noise: (what, effect) for the record; empty if all is calm.
    """

    look: Look | None = None
    target: Target = field(default_factory=Target)
    waited_s: float = 0.0
    noise: tuple[tuple[str, str], ...] = ()

    @property
    def table(self) -> dict[str, Any]:
        """For the record's manifest; of the stops only what they come to."""
        if self.look is None:
            return {}
        return {**summary(self.look, self.target), "waited_s": round(self.waited_s, 1)}


def ready(
    study: Study, facts: Facts, patience: Patience, show: Show, *, names: Names | None = None
) -> Ready:
    """Look, and wait for a calm machine as long as patience lasts.

    Args:
        study: whose QoS target says which stops matter.
        facts: of the machine.
        patience: how long to wait.
        show: is told what was found, what that does to the answer, and what is waited for.
        names: tells who runs on some CPUs, worst first; asked if the machine does not calm.
    """
    is_quick = study.run.profile == "quick"
    length_s = LOOK_S_QUICK if is_quick else LOOK_S
    calm_s = (CALM_S_QUICK if is_quick else CALM_S) if patience.calm_s is None else patience.calm_s
    ours = [spec for spec in _services(study) if not services.kind(spec.kind).is_foreign]
    cpus = sorted({cpu for spec in ours for cpu in placement(spec, facts).server})
    if not cpus:  # to look keeps CPUs busy, which is not the lab's to do to a user's own service
        return Ready(target=strictest(study))
    target, is_shielded = strictest(study), shields(study, facts)
    began_s = time.monotonic()
    deadline = Deadline(0.0 if patience.is_forced else calm_s)
    is_reported = False
    while True:
        result = look(cpus, length_s)
        is_calm = result.is_calm(target, is_shielded=is_shielded)
        if is_calm or not result.is_watched or deadline.left_s < length_s:
            break
        if not is_reported:
            show(Event(step=STEP, text=f"not calm: {result.seen(target)}"))
            show(Event(step=STEP, text=f"waiting up to {show_s(deadline.left_s)} for it to calm"))
            is_reported = True
        time.sleep(REST_S)
    if not is_calm and names:
        result = replace(result, names=tuple(names(cpus)))
    seen, effect = result.seen(target), result.effect(target, is_shielded=is_shielded)
    waited_s = time.monotonic() - began_s
    show(Event(step=STEP, text=f"{'calm' if is_calm else 'going on'}: {seen}"))
    show(Event(step=STEP, text=f"effect on the answer: {effect}"))
    noise = () if is_calm else ((f"before the first point, {seen}", effect),)
    return Ready(look=result, target=target, waited_s=waited_s, noise=noise)


def strictest(study: Study) -> Target:
    """The target that stops break first; where a bound is not known yet, 1 ms is taken."""
    targets = [_target(spec) for spec in _services(study)]
    return min(targets, key=lambda target: target.bound_ns / (1.0 - target.q))


def _services(study: Study) -> list[ServiceSpec]:
    """All that will serve, each as the levels of the study's factors make it."""
    return [under.service(label) for label, _, under in design.studies(study)]


def _target(spec: ServiceSpec) -> Target:
    if spec.qos is None:
        return Target()
    if spec.qos.rule is not QosRule.GIVEN:
        return Target(q=spec.qos.q)
    return Target(q=spec.qos.q, bound_ns=parse_ns(spec.qos.bound))


def shields(study: Study, facts: Facts) -> bool:
    """Whether the server will run before other tasks, so that only the machine can stop it."""
    return getattr(study.run, "shield", "none") != "none" and facts.rights.may("sys_nice")
