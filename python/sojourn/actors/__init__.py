"""Who is on the stage while a point is measured: services, neighbours, probes, managers, clients.

`cast` says who enters beside the service under load; `run.scene` lets them enter and leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sojourn import places
from sojourn.actors import clients, managers, neighbours, probes
from sojourn.actors.actor import Actor, Role, Running, Stage, Window, cpu_roles
from sojourn.actors.kind import NO_NEIGHBOUR, ActorKind, ProbeKind, named
from sojourn.actors.neighbours import Neighbour
from sojourn.errors import SpecFault
from sojourn.host import Facts, Placement
from sojourn.plan import Point, Questions, traced
from sojourn.plan.setting import NEIGHBOUR
from sojourn.spec import ServiceSpec, Study

#: Kinds by table, in the order in which they enter.
KINDS: Mapping[str, Mapping[str, ActorKind]] = {
    "neighbours": neighbours.KINDS,
    "probes": probes.KINDS,
    "managers": managers.KINDS,
    "clients": clients.KINDS,
}

SHIELDLESS = "none"  # `run.shield`: the machine's scheduling is what is asked about

__all__ = [
    "KINDS",
    "NOTHING",
    "NO_NEIGHBOUR",
    "Actor",
    "ActorKind",
    "Catalogue",
    "Role",
    "Running",
    "Stage",
    "Window",
    "cast",
    "check",
    "check_cpus",
    "cpu_roles",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What whoever runs a study is handed, because questions are unknown here.

    Attributes:
        questions: all that may be asked.
        probes: of questions that watch, or do, something of their own while load runs.
    """

    questions: Questions = field(default_factory=Questions)
    probes: tuple[ProbeKind, ...] = ()


NOTHING = Catalogue()


def cast(
    study: Study, spec: ServiceSpec, point: Point, catalogue: Catalogue = NOTHING
) -> tuple[Actor, ...]:
    """Who enters for a point, in order: its neighbours, probes and manager.

    A point's own rules or setting say who its neighbours are; else the study does. A manager is
    there only beside a neighbour and under a load, because it has nothing to move otherwise.

    Raises:
        SpecFault: the study names a kind that there is not.
    """
    has_neighbour = point.setting.get(NEIGHBOUR, study.neighbour) != NO_NEIGHBOUR
    is_managed = point.offered_rps is not None and has_neighbour
    manager = named(managers.KINDS, study.manager, key="manager") if is_managed else None
    is_bare = study.run.shield == SHIELDLESS and point.offered_rps is not None
    watching = (
        kind.build(spec, point) or (kind.bare(point) if is_bare and kind.bare else None)
        for kind in probes.entering(catalogue.probes)
    )
    return (
        *_beside(study, point),
        *(probe for probe in watching if probe),
        *((manager[1],) if manager else ()),
    )


def _every(study: Study, spec: ServiceSpec, catalogue: Catalogue) -> list[str]:
    """Every neighbour that a point may have, traced ones and suspects too, as the study has it."""
    wanted = (str(setting[NEIGHBOUR]) for setting in traced.settings(study, spec))
    asked = catalogue.questions.values()
    others = (name for question in asked for name in question.neighbours(study, spec))
    return sorted({study.neighbour, *wanted, *others} - {NO_NEIGHBOUR})


def check_cpus(
    study: Study,
    spec: ServiceSpec,
    where: Placement,
    facts: Facts,
    catalogue: Catalogue = NOTHING,
) -> None:
    """Refuse a neighbour that is to have CPUs of its own where all are taken, or room there is not.

    Raises:
        HostFault: server, client and lab have every CPU, or its copies do not fit together.
    """
    cpus = cpu_roles(where, [cpu.id for cpu in facts.topology.usable])
    for text in _every(study, spec, catalogue):
        result = named(neighbours.KINDS, text, key="neighbour")
        if result and isinstance(result[1], Neighbour):
            result[1].check_cpus(cpus[Role.NEIGHBOUR])
            result[1].check_room(cpus)


def _beside(study: Study, point: Point) -> Iterator[Actor]:
    """The neighbours of a point: one, or all that are suspected where that is what it is for."""
    texts = point.rules.neighbours
    if texts is None:
        texts = (str(point.setting.get(NEIGHBOUR, study.neighbour)),)
    for number, text in enumerate(texts, start=1):
        if result := named(neighbours.KINDS, text, key="neighbour"):
            if isinstance(result[1], Neighbour):
                result[1].text, result[1].number = text, number
            yield result[1]


def check(study: Study, spec: ServiceSpec, facts: Facts, catalogue: Catalogue = NOTHING) -> None:
    """Refuse a study whose actors cannot be had here; nothing is started.

    Raises:
        SpecFault: there is no such kind.
        HostFault: something that a kind needs is missing.
    """
    wanted = traced.settings(study, spec)
    for text in _every(study, spec, catalogue):
        if result := named(neighbours.KINDS, text, key="neighbour"):
            result[0].check(facts)
            if isinstance(result[1], Neighbour):
                result[1].check(facts)
    for kind in catalogue.probes:
        kind.check_service(spec)
    if result := named(managers.KINDS, study.manager, key="manager"):
        _check_managed(study, spec)
        result[0].check(facts)
    if wanted:
        if why := places.kind(spec.place).unseen:
            raise SpecFault(
                f"requests cannot be traced in place {spec.place}: {why}",
                at=f"services.{spec.label}.place",
                fix='leave out trace and breakdown, or give place = "local"',
            )
        probes.KINDS["trace"].check(facts)


def _check_managed(study: Study, spec: ServiceSpec) -> None:
    """Refuse a manager that could see or move nothing, whatever the machine is.

    Raises:
        SpecFault: there is no target, no neighbour, or no control group for each of them.
    """
    at = "manager"
    if spec.qos is None:
        fix = f'add [services.qos] to {spec.label}, such as bound = "1ms"'
        raise SpecFault(f"a manager needs a target, and {spec.label} has none", at=at, fix=fix)
    if study.neighbour == NO_NEIGHBOUR:
        fix = "name a neighbour, or skip this combination by [[design.skip]]"
        raise SpecFault("a manager has nothing to move without a neighbour", at=at, fix=fix)
    if study.groups != "own":
        fix = 'give groups = "own"'
        what = "a manager moves control groups, so service and neighbour need one each"
        raise SpecFault(what, at=at, fix=fix)
