"""A lab at work: it holds what runs, and leaves nothing of it.

    with Session(facts) as session:
        for point in points:
            execute(study, point, folder, session)

A service is kept for consecutive points of one life (`Point.life`) and started anew for the next:
the unit of repetition is a restart (M15). Its data files are made once for all restarts.
"""

from __future__ import annotations

import contextlib
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from sojourn import actors, places, services
from sojourn.actors import NOTHING, Catalogue
from sojourn.host import Facts, Placement, apart, place
from sojourn.host.placement import confine, joined, labelled, lay_out, unpinned
from sojourn.places import users
from sojourn.plan import Point, design
from sojourn.plan.question import Question
from sojourn.run import (
    attach,
    grouping,
    lab_cpus,
    placed,
    restore,
    shield,
    signals,
    waits,
    widths,
    work,
)
from sojourn.run.clients import HERE, Source
from sojourn.run.generator import LINE_S
from sojourn.run.journal import Journal
from sojourn.run.live import RunningService
from sojourn.run.served import Served
from sojourn.run.watch import Event, Show, nothing
from sojourn.services import Allowance, Service
from sojourn.services.capabilities import Adapts, Prepares, Running, needs
from sojourn.spec import Pin, ServiceSpec, Study

#: Share of the papers' data sets by profile: a restart has to fit into the profile's time.
SCALE = {"quick": 1 / 128, "standard": 1 / 16, "full": 1.0}


def placement(spec: ServiceSpec, facts: Facts, study: Study | None = None) -> Placement:
    """Who runs where for one service: as many CPUs as it wants threads, if there are as many.

    Args:
        spec: the service.
        facts: of this machine.
        study: all of whose runs are to have CPUs of one kind; None: this run is alone.
    """
    threads, clients = _wish(spec, facts)
    widest = _widest(spec.label, facts, study) if study else (0, 0)
    where = place(facts.topology, threads=threads, clients=clients, widest=widest)
    return labelled(_same_placement(where, spec, facts), facts.topology)


def _same_placement(where: Placement, spec: ServiceSpec, facts: Facts) -> Placement:
    """The same as the study or a service that runs already has it."""
    usable = [cpu.id for cpu in facts.topology.usable]
    kind = services.kind(spec.kind)
    if kind.is_foreign:
        return joined(where, kind.cpus(spec.params), usable)
    if spec.layout:
        at = f"services.{spec.label}.cores"
        where = lay_out(where, facts.topology, spec.layout.cores, spec.layout.cpus, at=at)
    cpus = placed.knob_cpus(spec)
    return confine(where, cpus, usable) if cpus else where


def _wish(spec: ServiceSpec, facts: Facts) -> tuple[int, int]:
    """CPUs that a service and its client would like."""
    threads = spec.layout.cores if spec.layout else widths.width(spec, facts)
    clients = widths.whole(spec.load.get("threads"), -(-threads // widths.CLIENT_PER_SERVER))
    return threads, max(clients, spec.clients)


def _widest(own: str, facts: Facts, study: Study) -> tuple[int, int]:
    """Most of each that any combination of the study wants of this service."""
    if len(facts.topology.kinds) < 2:
        return 0, 0  # it makes no difference where all CPUs are alike
    each = (under.service(own) for label, _, under in design.studies(study) if label == own)
    wishes = [_wish(one, facts) for one in each]
    return max((t for t, _ in wishes), default=0), max((c for _, c in wishes), default=0)


def company(
    study: Study, facts: Facts, asks: Question, whole: Study | None = None
) -> dict[str, Placement]:
    """Who runs where when services are measured at once, by label, and alone to be compared."""
    members = asks.members(study)
    wheres = {label: placement(study.service(label), facts, whole) for label in members}
    placements = apart(wheres, facts.topology)
    return {label: labelled(where, facts.topology) for label, where in placements.items()}


def settle(
    spec: ServiceSpec,
    study: Study,
    facts: Facts,
    whole: Study | None = None,
    catalogue: Catalogue = NOTHING,
    *,
    is_asked: bool = True,
) -> tuple[Service, Placement]:
    """Fit a service to this machine; nothing is started.

    Args:
        spec: the service.
        study: under the levels of the run.
        facts: of this machine.
        whole: the study with all its levels; None: this run is alone.
        catalogue: of questions and their probes.
        is_asked: whether one that runs already is asked three times; else it is left alone.

    Raises:
        SpecFault, HostFault: it cannot be had here.
    """
    actors.check(study, spec, facts, catalogue)
    grouping.check(study, facts, is_varied=grouping.KEY in (whole or study).factors)
    placed.check_levels(spec, facts)
    where = placement(spec, facts, whole)
    actors.check_cpus(study, spec, where, facts, catalogue)
    disk_bytes, disk_files = work.room(users.server_user())
    allowance = Allowance(
        cpus=len(where.server),
        memory_bytes=facts.memory.free_bytes,
        open_files=facts.rights.open_files_max,
        disk_bytes=disk_bytes,
        disk_files=disk_files,
        scale=SCALE[study.run.profile],
        profile=study.run.profile,
    )
    params = {name: value for name, value in spec.params.items() if not isinstance(value, tuple)}
    service = services.build(spec.kind, params, allowance)
    placed.check(spec, service, facts, catalogue.questions)
    work.check_disk(spec, service)
    if isinstance(service, Adapts) and (is_asked or not isinstance(service, Running)):
        service = service.adapted(spec.load, waits.of_study(spec))
    placed.check_pin(spec, service, where)
    is_pinned = needs(service).is_pinned and spec.pin is not Pin.NONE
    return service, where if is_pinned else unpinned(where, facts.topology)


class Session:
    """What is running and what has to be undone."""

    def __init__(
        self,
        facts: Facts,
        *,
        show: Show = nothing,
        state: Path | None = None,
        every_s: float = LINE_S,
        whole: Study | None = None,
        catalogue: Catalogue = NOTHING,
        source: Source = HERE,
    ) -> None:
        """Nothing runs yet.

        Args:
            facts: of the machine.
            show: what happens; is called while load runs every `every_s` at most.
            state: folder of the journal; None: the user's own.
            every_s: each call costs the client a stop where it shares a CPU with the lab.
            whole: the study whose points are measured, with all its levels, if there is one.
            catalogue: of questions and their probes.
            source: where load comes from: this host, or several.
        """
        self.facts = facts
        self.source = source
        self.show = show
        self.every_s = every_s
        self.catalogue = catalogue
        self._state = state
        self._whole = whole
        self._served: dict[str, Served] = {}
        self._settled: dict[tuple[str, str], tuple[Service, Placement]] = {}
        self._folders: dict[tuple[str, int], tuple[Path, int]] = {}
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        for undone in restore.restore(self._state):
            self.show(Event(step="restore", text=f"{undone.what}: {undone.how}"))
        with ExitStack() as exits:  # what refuses to begin is left by no one else
            self.journal = Journal.create(self._state)
            exits.callback(self.journal.close)
            exits.enter_context(signals.ending_in_order())
            exits.enter_context(lab_cpus.on(place(self.facts.topology).housekeeping))
            self._exits = exits.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._exits, signals.deaf():
            try:
                self.end()
            finally:
                for folder, entry in self._folders.values():
                    work.remove(folder, entry, self.journal)

    def services(self, study: Study, point: Point) -> tuple[Served, ...]:
        """The services of a point, on their way to the scene: those that run, or anew.

        Args:
            study: it belongs to.
            point: to be measured, with those beside it.

        Raises:
            SpecFault, HostFault: one cannot be had here.
        """
        lives = {member.service: member.life for member in point.all}
        for label, served in tuple(self._served.items()):
            if not served.serves(lives.get(label, "")):
                del self._served[label]
                served.end()
        return tuple(self._service(study, member) for member in point.all)

    def _service(self, study: Study, point: Point) -> Served:
        if point.service in self._served:
            return self._served[point.service]
        spec = study.service(point.service)
        as_asked = spec.label, spec.model_dump_json()  # a study may vary it from point to point
        if as_asked not in self._settled:
            self._settled[as_asked] = self._settle(spec, study)
        service, where = self._settled[as_asked]
        asks = self.catalogue.questions.of_phase(point.phase)
        has_company = point.rules.is_of_all and not (asks and asks.is_in_turn)
        if asks is not None and has_company:
            where = company(study, self.facts, asks, self._whole)[spec.label]
        live = RunningService(
            label=spec.label,
            life=point.life,
            service=service,
            placement=where,
            place=places.build(spec.place, self.source.address),
            work=self._folder(spec, service),
            usable=tuple(cpu.id for cpu in self.facts.topology.usable),
            levels=placed.levels(spec, where),
            wish=shield.wish(study, spec, point, service, where),
            pin=spec.pin,
            has_company=has_company,
            groups=study.groups,
            notes=self.source.rows + work.disk_rows(spec, service),
        )
        self._served[spec.label] = Served(live, spec, self.journal, self.show)
        return self._served[spec.label]

    def _settle(self, spec: ServiceSpec, study: Study) -> tuple[Service, Placement]:
        """As `settle`; a service equal to an earlier one of its label is that one."""
        service, where = settle(spec, study, self.facts, self._whole, self.catalogue)
        own = (one for (label, _), (one, _) in self._settled.items() if label == spec.label)
        return next((one for one in own if one == service), service), where

    def away_s(self, point: Point) -> float | None:
        """Wait until services of a failed point that are not the lab's own answer again.

        Returns:
            How long that took, s; None: one of them did not answer in time.
        """
        lives = [self._served[m.service].live for m in point.all if m.service in self._served]
        return attach.until_back([live for live in lives if live.is_foreign], self.show)

    def end(self) -> None:
        """End the services that run."""
        with contextlib.ExitStack() as every:
            for served in self._served.values():
                every.callback(served.end)
            self._served = {}

    def _folder(self, spec: ServiceSpec, service: Service) -> Path:
        """The service's working folder with its data files, made once for it as it is settled."""
        key = spec.label, id(service)  # not its parameters: CPUs and memory decide as well
        if key not in self._folders:
            with signals.deaf():
                user = work.user_of(service)
                self._folders[key] = made = work.make(self.journal, user)
            self.show(Event(step="prepare", text=f"{spec.label}: data files", service=spec.label))
            try:
                with work.readable_by_others():
                    if isinstance(service, Prepares):
                        service.prepare(made[0])
                work.hand_over(made[0], user)
            except BaseException:
                with signals.deaf():  # half a data set must not meet the next point
                    work.remove(*self._folders.pop(key), self.journal)
                raise
        return self._folders[key][0]
