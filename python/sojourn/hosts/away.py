"""Roles other than clients: server, neighbours and observers on other hosts.

    server       a stage (`sojourn.stage`) does all of a point there but its load
    neighbours   a stage enters the neighbours of a point there, and nothing else
    observers    an agent says how busy its host was while load ran

The driver plans and offers the load from the clients, in between.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sojourn import disk
from sojourn.actors import NO_NEIGHBOUR, Actor, Catalogue, Role, cast
from sojourn.errors import Fault, RunFault, SpecFault
from sojourn.hosts import answers, copies, parts
from sojourn.hosts.chosen import named
from sojourn.hosts.clock import Exchange, reading
from sojourn.hosts.crew import RESUMES
from sojourn.hosts.elsewhere import Elsewhere, Passing
from sojourn.hosts.engine import LostError, Node
from sojourn.hosts.fleet import Fleet
from sojourn.hosts.observed import Looks
from sojourn.hosts.station import Station, fault_of
from sojourn.places.process import Ledger
from sojourn.plan import Point, codec, design
from sojourn.plan.left_out import LeftOut
from sojourn.run.clients import Load
from sojourn.run.generator import Watcher
from sojourn.run.generator_job import Files
from sojourn.run.watch import Show
from sojourn.samples import HOSTS
from sojourn.samples.names import HOST
from sojourn.spec import ServiceSpec, Study, to_toml
from sojourn.spec.hosts import SERVER, NeedsSpec
from sojourn.spec.hosts import Role as HostRole

OTHERS: tuple[HostRole, ...] = ("neighbours", "observers")


class Away:
    """The hosts of a study's other roles."""

    def __init__(self, study: Study, fleet: Fleet, show: Show, *, is_forced: bool = False) -> None:
        """Hire all of them; a role without a host is refused here, before the first run.

        Raises:
            SpecFault, HostFault, RunFault: one cannot be had.
        """
        assert study.hosts is not None  # noqa: S101  # asked of a study that has them
        self._study, self._fleet, self._show, self._is_forced = study, fleet, show, is_forced
        self.skipped: tuple[LeftOut, ...] = ()
        self._stations: list[Station] = []
        spec = study.hosts
        if spec.neighbours and study.manager != NO_NEIGHBOUR:
            raise SpecFault(
                "a manager moves neighbours on the host of the service",
                at="hosts.neighbours",
                fix="leave hosts.neighbours out, or the manager",
            )
        every = servers(study)
        if len(every) > 1 and spec.clients is None:
            raise SpecFault(
                f"{len(every)} hosts are servers in turn, so clients cannot be all the others",
                at="hosts.clients",
                fix="name the clients",
            )
        try:
            nodes = fleet.crew.nodes()
            self._servers = {
                name: self._station("server", named(name, nodes, SERVER)) for name in every
            }
            self._neighbours, self._observers = (
                [
                    self._station(role, named(name, nodes, f"hosts.{role}"))
                    for name in getattr(spec, role)
                ]
                for role in OTHERS
            )
            for name, station in self._servers.items():
                self._open_server(name, station)
            for station in self._neighbours:
                self._open(station)
        except BaseException:
            self.close()
            raise

    def _station(self, role: HostRole, node: Node) -> Station:
        assert self._study.hosts is not None  # noqa: S101
        needs = self._study.hosts.needs.get(role, NeedsSpec())
        crew = self._fleet.crew
        made = Station(role, node, crew.engine, self._show, own=crew.own, needs=needs)
        self._stations.append(made)
        return made

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """Who is where, for people."""
        others = [one.text for one in self._stations if one.role != "server"]
        return (("other hosts", ", ".join(others)),) if others else ()

    def _open(self, station: Station, rows: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
        crew, sent_ns = self._fleet.crew, time.monotonic_ns()
        if not isinstance(stamp := station.ask("stamp"), int):
            raise RunFault("its clock is no number", at=station.text, fix=RESUMES)
        own = reading([Exchange(sent_ns, stamp, time.monotonic_ns())])
        seen = [*(member.seen for member in crew.members), (station.facts, own)]
        station.facts = copies.apart(seen, crew.own, time.monotonic_ns())[-1]
        is_here = parts.is_same_machine(station.facts, crew.own)
        return station.begin(
            {
                "do": "open",
                "study": to_toml(self._study),
                "address": station.node.address,
                "is_forced": self._is_forced or is_here,  # the lab has the turn of its machine
                "neighbours": not self._neighbours,
                "rows": [list(row) for row in rows],
            }
        )

    def _open_server(self, name: str, station: Station) -> None:
        """Start its stage, which holds the study against its machine."""
        rows = [("clients", self._fleet.text), ("server", station.node.text), *self.rows]
        reply = self._open(station, rows)
        with station.understood(), answers.sensible():
            faults = [answers.fault(one) for one in reply["faults"]]
            skipped = [LeftOut.of(one) for one in reply["skipped"]]
        for table in filter(None, faults):
            raise fault_of({"fault": table}, station.text)
        self.skipped += tuple(one for one in skipped if one.levels.get(SERVER, name) == name)

    def cast(
        self, study: Study, spec: ServiceSpec, point: Point, catalogue: Catalogue
    ) -> Sequence[Actor]:
        """Who enters here; one actor enters for all neighbours on other hosts."""
        every = cast(study, spec, point, catalogue)
        if not self._neighbours or not any(actor.role is Role.NEIGHBOUR for actor in every):
            return every
        others = [actor for actor in every if actor.role is not Role.NEIGHBOUR]
        return [Elsewhere(self._ready(self._neighbours)), *others]

    def offer(
        self, loads: Sequence[Load], ledger: Ledger, watcher: Watcher | None = None
    ) -> list[Mapping[str, Any]]:
        """Offer loads while observers look on; as `Fleet.offer`."""
        self._fleet.held = [one.facts for one in (*self._servers.values(), *self._neighbours)]
        if not self._observers:
            return self._fleet.offer(loads, ledger, watcher)
        looks = Looks(self._ready(self._observers), watcher or Watcher())
        results = self._fleet.offer(loads, ledger, looks)
        rows, path = looks.rows(), loads[0].files.result.parent / HOSTS
        if path.exists():
            disk.keep_json(path, {**disk.read_json(path), "observers": rows}, indent=1)
        return results

    def measure(self, study: Study, point: Point, folders: Sequence[Path], ledger: Ledger) -> None:
        """Measure a point whose service is on another host, into its folders.

        Raises:
            Fault: it cannot be measured. What was measured is in the folders.
        """
        assert study.hosts is not None  # noqa: S101
        server = self._servers[study.hosts.server]
        self._ready([server])
        with ExitStack() as stack:
            company = self._company(study, point, folders[0])
            server.tell("measure", point=codec.to_json(point))
            reply: Mapping[str, Any] = server.wait("ready", "done")
            why, result, seen = "", None, dict[str, Any]()
            try:
                if reply["say"] == "ready":
                    seen = stack.enter_context(company)
                    with server.understood(), answers.sensible():
                        loads = [
                            _load(one, at) for one, at in zip(reply["loads"], folders, strict=True)
                        ]
                    self._fleet.serves = server.facts
                    watcher = Passing(server, point, self._show)
                    result = self.offer(loads, ledger, watcher)[0]
            except BaseException as error:
                why = str(getattr(error, "what", "")) or type(error).__name__
                raise
            finally:
                self._fleet.serves = None
                if not server.is_lost:
                    if reply["say"] == "ready":
                        reply = self._over(server, why, result)
                    server.bring(folders)
        if reply["fault"] is not None:
            raise fault_of(reply, server.text)
        _add_seen(folders[0], seen)

    def _over(
        self, server: Station, why: str, result: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """Let all leave there; how that went."""
        when: dict[str, Any] = {}
        if result is not None:
            ago_ns = time.time_ns() - int(result["started_unix_ns"])
            when = {"began_ago_ns": ago_ns, "measured_s": result["measured_s"]}
        server.tell("over", why=why, **when)
        return server.wait("done")

    @contextlib.contextmanager
    def _company(self, study: Study, point: Point, folder: Path) -> Iterator[dict[str, Any]]:
        """Neighbours on other hosts while load runs; afterwards what they saw."""
        seen: dict[str, Any] = {}
        own = point.setting.get("neighbour", study.neighbour)
        if not self._neighbours or (own == NO_NEIGHBOUR and not point.rules.neighbours):
            yield seen
            return
        actor = Elsewhere(self._ready(self._neighbours))
        try:
            actor.begin(point, folder)
            yield seen
        finally:
            actor.leave()
            seen.update(actor.saw())

    def _ready(self, stations: Sequence[Station]) -> Sequence[Station]:
        """Hire again who was lost."""
        for station in stations:
            station.notice()
            if station.is_lost:
                station.again(self._fleet.crew.nodes())
                name = next((n for n, one in self._servers.items() if one is station), None)
                if name is not None:
                    self._open_server(name, station)
                elif station.role == "neighbours":
                    self._open(station)
                station.is_lost = False
        return stations

    def close(self) -> None:
        """End all stages and agents."""
        for station in self._stations:
            with contextlib.suppress(Fault, LostError):
                station.close()


def servers(study: Study) -> tuple[str, ...]:
    """The nodes that are servers under any levels of a study's factors, each once.

    Raises:
        SpecFault: under some levels there is one, and under others there is none.
    """
    result = design.servers(study)
    if "" in result and len(result) > 1:
        raise SpecFault(
            "under some levels the service runs on another host, under others here",
            at=SERVER,
            fix="make this host a node of the cluster, and name it",
        )
    return tuple(filter(None, result))


def _load(reply: Mapping[str, Any], folder: Path) -> Load:
    """The load that a stage asks for, with its files here."""
    job = dict(reply["job"])
    for key, name in (("hlog", "load.hlog"), ("raw", "raw.parquet")):
        if job.get(key):
            job[key] = str(folder / name)
    return Load(job, int(reply["n"]), Files.named(folder, "load"))


def _add_seen(folder: Path, seen: Mapping[str, Any]) -> None:
    path = folder / HOST
    if seen:
        disk.keep_json(path, {**(disk.read_json(path) if path.exists() else {}), **seen}, indent=1)
