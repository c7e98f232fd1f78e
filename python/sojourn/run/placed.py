"""Place and knobs of a service, held against this machine before anything is made or set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from sojourn import knobs, places, programs, units
from sojourn.errors import AbsentFault, HostFault, SpecFault
from sojourn.host import Facts, Placement
from sojourn.host.abilities import abilities
from sojourn.host.tree import Tree, cpu_text
from sojourn.knobs import Asked, KnobKind
from sojourn.places import PlaceKind, temporary
from sojourn.plan.design import LOCAL
from sojourn.plan.questions import Questions
from sojourn.run import work
from sojourn.run.live import check_port
from sojourn.services import Program, Service
from sojourn.services.capabilities import Contained, Running, needs
from sojourn.spec import Pin, ServiceSpec


def check(spec: ServiceSpec, service: Service, facts: Facts, questions: Questions) -> None:
    """Refuse a place that this service or this machine cannot have, and a port that is taken.

    Of the knobs it asks those that depend on the working folder; `check_levels` asks the others.

    Raises:
        SpecFault: there is no such place, or nothing can be started there.
        HostFault: this machine lacks what the place or a knob needs, or the port is taken.
    """
    if isinstance(service, Running):
        _check_foreign(spec, questions)
    kind, network = places.kind(spec.place), places.network_kind(spec.place)
    at = f"services.{spec.label}.place"
    if isinstance(service, Program) and not kind.starts:
        raise SpecFault(
            f"{spec.kind} is a program, and none can be started in place {kind.name}",
            at=at,
            fix='leave place out, or give place = "local"',
        )
    if isinstance(service, Contained) and not kind.bears_images:
        raise SpecFault(
            f"{spec.kind} is a container, which place {kind.name} does not run",
            at=at,
            fix='give place = "runc", or "runc:netns" for a network of its own',
        )
    if needs(service).has_secrets and kind.shows_environment:
        raise SpecFault(
            f"place {kind.name} shows the variables of {spec.label} to all users of this machine",
            at=at,
            fix='give place = "runc", "netns" or "local", which do not',
        )
    for needed in filter(None, (kind, network)):
        _check_needs(needed, facts, at)
    for option in places.options(spec.place):
        _check_programs(spec.place, option.programs, at)
    _check_memory(spec, service, facts)
    check_port(spec.label, needs(service).port, places.build(spec.place))
    _check_folder(spec, service, facts)


def _check_memory(spec: ServiceSpec, service: Service, facts: Facts) -> None:
    """Refuse a guest with more memory than this machine has; 0: that is not known."""
    wanted, most = needs(service).memory_bytes, facts.memory.total_bytes
    if places.kind(spec.place).name == work.VM and 0 < most < wanted:
        raise HostFault(
            f"{spec.label} may take {units.show_bytes(wanted)} in a virtual machine, and this "
            f"machine has {units.show_bytes(most)}",
            at=f"services.{spec.label}.place",
            fix="give a smaller params.memory_bytes, or fewer items",
        )


def _check_foreign(spec: ServiceSpec, questions: Questions) -> None:
    """Refuse to change a service that the lab does not start."""
    turning = [name for name in spec.measure if _turns(questions, name)]
    wanted = {
        "place": spec.place if spec.place != LOCAL else "",
        "knobs": ", ".join(spec.knobs),
        "cores": spec.cores,
        "measure": ", ".join(turning),
    }
    for key, value in wanted.items():
        if value:
            raise SpecFault(
                f"service {spec.label} runs already, and nothing of it is changed: {key} asks for "
                f"{value}",
                at=f"services.{spec.label}.{key}",
                fix=f'leave {key} out, or let the lab start it: kind = "command"',
            )


def _turns(questions: Questions, name: str) -> bool:
    """Whether what is asked turns knobs of the service."""
    question = questions.get(name)
    return question is not None and any(kind.is_turned for kind in question.phases)


def check_pin(spec: ServiceSpec, service: Service, where: Placement) -> None:
    """HostFault where each worker is to have a CPU to itself, and there are too few."""
    workers = needs(service).workers
    if spec.pin is Pin.ONE and workers > len(where.server):
        here = f"{len(where.server)} CPU{'s' if len(where.server) > 1 else ''}"
        raise HostFault(
            f"{workers} workers with a CPU each need as many CPUs; the server has {here}",
            at=f"services.{spec.label}.pin",
            fix='give fewer workers, or pin = "turn": then they take turns (L23)',
        )


def levels(spec: ServiceSpec, where: Placement | None = None) -> dict[str, str]:
    """The levels that the study gives a service's knobs, as text, by name.

    Args:
        spec: the service.
        where: who runs where: "server", "client" and "lab" become their CPUs. None: left as is.
    """
    reports = {name: str(level) for name, level in spec.knobs.items()}
    if where is None:
        return reports
    parties = {"server": where.server, "client": where.client, "lab": where.housekeeping}
    return {
        name: cpu_text(parties[level]) if level in parties else level
        for name, level in reports.items()
    }


def knob_cpus(spec: ServiceSpec) -> tuple[int, ...]:
    """CPUs that a knob of the study leaves the service, ascending; none: no knob says."""
    for name, level in levels(spec).items():
        cpus = knobs.kind(name).cpus
        if cpus is not None:
            return cpus(level)
    return ()


def check_levels(spec: ServiceSpec, facts: Facts) -> None:
    """Refuse knobs that there are not, and what this machine does not have for their levels.

    The service need not be built: what depends on its working folder is asked by `check`.

    Args:
        spec: the service.
        facts: of this machine.

    Raises:
        SpecFault: there is no such knob, its level cannot be read, or names CPUs that cannot be
            used here.
        HostFault: this machine lacks what a level needs.
    """
    for name, level in levels(spec).items():
        kind, at = knobs.kind(name), _at(spec, name)
        if not re.fullmatch(kind.pattern, level):
            raise SpecFault(f"{name} is '{level}'", at=at, fix=f"give {kind.level}")
        if refusal := kind.refuses(level):
            raise SpecFault(f"{name} is '{level}', but {refusal}", at=at, fix=f"give {kind.level}")
        if why := places.kind(spec.place).out_of_reach.get(name):
            raise SpecFault(
                f"knob {name} does not reach a service in place {spec.place}: {why}",
                at=at,
                fix=f'leave {name} out, or give place = "local"',
            )
        if not kind.asks_folder:
            _check_lack(spec, name, facts)
        if kind.cpus is not None:
            _check_cpus(kind, level, facts, at)


def _check_folder(spec: ServiceSpec, service: Service, facts: Facts) -> None:
    """Refuse a knob where the service's working folder lacks what its level needs."""
    asked = [name for name in spec.knobs if knobs.kind(name).asks_folder]
    folder = temporary.base(work.user_of(service)) if asked else None
    for name in asked:
        _check_lack(spec, name, facts, folder)


def _check_lack(spec: ServiceSpec, name: str, facts: Facts, folder: Path | None = None) -> None:
    """Refuse a knob where this machine lacks what its level needs."""
    tree = Tree(Path(facts.root))
    asked = Asked(level=levels(spec)[name], place=spec.place, tree=tree, work=folder)
    if lack := knobs.kind(name).lacks(asked):
        raise HostFault(
            f"knob {name} is not available here: {lack.missing} is missing",
            at=_at(spec, name),
            fix=f"{lack.fix or 'take another machine'}; or leave {name} out",
        )


def _at(spec: ServiceSpec, knob: str) -> str:
    """Where a knob of a service is in the study, for errors."""
    return f"services.{spec.label}.knobs.{knob}"


def _check_cpus(kind: KnobKind, level: str, facts: Facts, at: str) -> None:
    """Refuse CPUs that are not here, or that this program may not use."""
    assert kind.cpus is not None  # noqa: S101
    usable = facts.topology.nameable
    here = cpu_text(usable)
    fix = f'give some of CPUs {here}, such as {kind.name} = "{usable[0]}"; or leave {kind.name} out'
    try:
        strays = {*kind.cpus(level)} - {*usable}
    except ValueError as error:
        raise SpecFault(f"{kind.name} is '{level}': {error}", at=at, fix=fix) from None
    if strays:
        named = cpu_text(tuple(sorted(strays)))
        what = f"{kind.name} is '{level}', but CPU {named} cannot be used here; CPUs {here} can"
        raise AbsentFault(what, at=at, fix=fix)


def _check_needs(kind: PlaceKind, facts: Facts, at: str) -> None:
    for ability in abilities(facts):
        if ability.name in kind.abilities and not ability.can:
            raise HostFault(
                f"place {kind.name} is not available here: {ability.missing} is missing",
                at=at,
                fix=f"{ability.fix or 'take another machine'}; or leave place out",
            )
    _check_programs(kind.name, kind.programs, at)


def _check_programs(place: str, wanted: Mapping[str, str], at: str) -> None:
    for program, package in wanted.items():
        if programs.maybe(program) is None:
            raise HostFault(
                f"place {place} is not available here: program {program} is missing",
                at=at,
                fix=f"apt install {package}; or leave place out",
            )
