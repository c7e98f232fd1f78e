"""One point, measured into its folder.

point.json      what was to be measured (the store writes it before)
load.job.json   the generator's job          load.json, load.hlog, raw.parquet   its results
trace.json      where the time went, if it was traced
manager.json    what a manager did; manager.audit.jsonl its decisions, windows.jsonl its source
service.json    what served                  service.log, load.log               what was said
resources.json  what the service and the machine used, sample by sample
host.json       what those on the stage saw: the machine, neighbours, culprits
run.json        how it went: "done", "failed" or "interrupted", with the fault
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sojourn import actors, disk, units
from sojourn.actors import Role
from sojourn.actors.clients.probing import Probe, probe_of
from sojourn.errors import Fault, RunFault
from sojourn.knobs import Offered
from sojourn.places.process import Process
from sojourn.plan import Phase, Point
from sojourn.run import grouping, waits
from sojourn.run.clients import Load
from sojourn.run.clocks import Clocks
from sojourn.run.generator import Watcher
from sojourn.run.generator_job import Files
from sojourn.run.grouping import Companions
from sojourn.run.live import RunningService
from sojourn.run.scene import Scene
from sojourn.run.session import Session
from sojourn.run.watch import Event
from sojourn.spec import ServiceSpec, Study, shape

HOST_SCHEMA = "sojourn.host/1"
STALL_S_MAX = 4.0  # without a single reply (a line of progress), before the server is asked
RAW_MAX = 8_000_000  # of a point whose requests are looked at one by one


class _Watcher(Watcher):
    """Watches the server while load runs, and lets the scene know how it goes on."""

    def __init__(self, live: RunningService, scene: Scene, session: Session) -> None:
        self._live = live
        self._point = scene.point
        self._scene = scene
        self._show = session.show
        self._every_s = session.every_s
        self._silent_s = 0.0
        self._last_t_s = 0.0

    @property
    def label(self) -> str:
        """The label of the service that it watches."""
        return self._live.label

    def heard(self, label: str, line: Mapping[str, Any]) -> None:
        """What the clients of one service reported last, for the manager."""
        self._scene.heard(label, line)

    @property
    def every_s(self) -> float:
        return min(self._every_s, self._scene.every_s)

    def groups(self, nth: int) -> Sequence[Path]:
        del nth
        return self._scene.groups(grouping.CLIENT)

    def started(self, nth: int, generator: Process) -> None:
        del nth
        self._scene.admit(grouping.CLIENT, generator)

    def sources(self) -> list[int]:
        process = self._live.process
        return [process.fileno()] if process is not None else []

    def look(self) -> None:
        died = self._live.fault(f"while {self._point.key} was measured")
        if died is not None:
            raise died

    def second(self, line: Mapping[str, Any]) -> None:
        self._show(
            Event(step="measure", text=self._point.key, service=self._point.service, second=line)
        )
        t_s, done = float(line.get("t_s", 0.0)), float(line.get("done_rps", 0.0))
        asked = int(line.get("in_flight", 0)) > 0 or float(line.get("sent_rps", 0.0)) > 0.0
        is_silent = asked and done == 0.0  # requests that are given up are no longer in flight
        self._silent_s = self._silent_s + max(0.0, t_s - self._last_t_s) if is_silent else 0.0
        self._last_t_s = t_s
        if self._silent_s >= max(STALL_S_MAX, self._live.reply_s) and not self._live.answers():
            raise RunFault(
                f"{self._live.label} has not answered for {self._silent_s:.0f} s, and does not "
                "answer a single request either",
                at=f"{self._live.address}, {self._point.key}",
                fix=f"see {_log(self._live)}; was the server stopped or starved?",
            )
        if not line.get("ended"):
            self._scene.second(line)


def _log(live: RunningService) -> str:
    """Where a server writes what went wrong, for people."""
    return "the server's own log" if live.is_foreign else "service.log in the point's folder"


class _All(Watcher):
    """Watches several servers; the line of progress, which sums up all, goes to the first.

    So is what the clients of each service saw: the manager is on the first one's stage.
    """

    def __init__(self, each: Sequence[_Watcher]) -> None:
        self._each = each

    @property
    def every_s(self) -> float:
        return min(watcher.every_s for watcher in self._each)

    def sources(self) -> list[int]:
        return [source for watcher in self._each for source in watcher.sources()]

    def look(self) -> None:
        for watcher in self._each:
            watcher.look()

    def groups(self, nth: int) -> Sequence[Path]:
        return self._each[nth].groups(nth)

    def started(self, nth: int, generator: Process) -> None:
        self._each[nth].started(nth, generator)

    def of_load(self, nth: int, line: Mapping[str, Any]) -> None:
        self._each[0].heard(self._each[nth].label, line)

    def second(self, line: Mapping[str, Any]) -> None:
        self._each[0].second(line)


def execute(
    study: Study, point: Point, folder: Path, session: Session, beside: Sequence[Path] = ()
) -> None:
    """Measure a point into `folder`, and those beside it into theirs.

    Args:
        study: it belongs to.
        point: to be measured.
        folder: of the point.
        session: what runs.
        beside: folders of the points beside it, in their order.

    Raises:
        SpecFault, HostFault: it cannot be measured here.
        RunFault: server, generator, disk or kernel failed. What was measured is in the folder.
        Interrupted: a signal ended it, the same holds.
    """
    started, folders = time.monotonic(), (folder, *beside)
    try:
        if session.source.measure is None:
            _measure(study, point, folders, session)
        else:
            session.source.measure(study, point, folders, session.journal)
    except Fault as fault:
        _keep(folders, "failed", started, fault)
        raise
    except KeyboardInterrupt:
        _keep(folders, "interrupted", started)
        raise
    _keep(folders, "done", started)


def _measure(study: Study, point: Point, folders: Sequence[Path], session: Session) -> None:
    served = session.services(study, point)
    services = {service.live.label: service.live for service in served}
    offered = {
        member.service: Offered(load=member.fraction or 1.0, rps=member.offered_rps)
        for member in point.all
    }
    for live in services.values():
        live.offered = offered
    with ExitStack() as stack:
        is_managed = study.manager != actors.NO_NEIGHBOUR
        companions = [
            Companions(study.groups, session.journal, is_managed=is_managed) for _ in point.all
        ]
        for one in companions:
            stack.callback(one.leave)
        scenes = [
            stack.enter_context(
                _scene(study, member, folder, session, services=services, companions=one)
            )
            for member, folder, one in zip(point.all, folders, companions, strict=True)
        ]
        for scene, service in zip(scenes, served, strict=True):
            scene.enter(service)
        has_neighbour, loads, watchers = False, [], []
        for nth, scene in enumerate(scenes):
            for actor in session.source.cast(study, scene.spec, scene.point, session.catalogue):
                if nth == 0 or actor.role is Role.PROBE:  # neighbours are there once for all
                    scene.enter(actor)
                    has_neighbour |= actor.role is Role.NEIGHBOUR
        for scene, service in zip(scenes, served, strict=True):
            most = study.run.raw_max
            asked = job(service.live, scene.spec, scene.point, scene.folder, raw_max=most)
            if has_neighbour:  # what it takes from the service is what the study asks about
                asked = {"disturbed_share_max": 1.0, **asked}
            files = Files.named(scene.folder, "load")
            probe = _probe(study, scene.point, service.live)
            loads.append(Load(asked, scene.spec.clients, files, probe))
            watchers.append(_Watcher(service.live, scene, session))
        clocks = Clocks()
        try:
            session.source.offer(loads, session.journal, _All(watchers))
        finally:
            for scene in scenes:
                scene.note(clocks.seen())


@contextlib.contextmanager
def _scene(
    study: Study,
    point: Point,
    folder: Path,
    session: Session,
    *,
    services: Mapping[str, RunningService],
    companions: Companions,
) -> Iterator[Scene]:
    """The stage of one service; what was seen on it is kept however it ends."""
    scene = Scene(
        point=point,
        spec=study.service(point.service),
        folder=folder,
        placement=services[point.service].placement,
        facts=session.facts,
        book=session.journal,
        services=services,
        companions=companions,
    )
    try:
        with scene:
            yield scene
    finally:
        if scene.seen:
            disk.keep_json(folder / "host.json", {"schema": HOST_SCHEMA, **scene.seen}, indent=1)


def job(
    live: RunningService, spec: ServiceSpec, point: Point, folder: Path, *, raw_max: int
) -> dict[str, Any]:
    """The generator's job: what follows from the machine, then the study, then the point."""
    raw_max = RAW_MAX if point.rules.is_raw else raw_max
    reply_s = live.reply_s
    rps, length_s = point.offered_rps, point.measure_s
    rate = {} if rps is None else {"rate": shape.rate(spec.shape, rps=rps, length_s=length_s)}
    return {
        **live.client(),
        **live.watched(),
        **waits.keys(spec, reply_s, bound_s=_bound_s(point)),
        **spec.job,
        **rate,
        "duration": f"{point.measure_s:.10g}s",
        "warmup": f"{point.warmup_s:.10g}s",
        "seed": point.seed,
        "hlog": str(folder / "load.hlog"),
        **({"raw": str(folder / "raw.parquet"), "raw_max": raw_max} if raw_max else {}),
        **dict(point.overrides),
    }


def _probe(study: Study, point: Point, live: RunningService) -> Probe | None:
    """Who asks beside the load at a point of a curve; no one beside other points (M5)."""
    return probe_of(study.probe, live.placement) if point.phase == Phase.SWEEP else None


def _bound_s(point: Point) -> float:
    """The QoS bound that a point's requests are held against, s; 0 without one."""
    return units.parse_ns(str(dict(point.overrides).get("qos_bound") or "0s")) / units.NS_PER_S


def _keep(folders: Sequence[Path], state: str, started: float, fault: Fault | None = None) -> None:
    table: dict[str, Any] = {
        "schema": "sojourn.run/1",
        "state": state,
        "wall_s": round(time.monotonic() - started, 3),
    }
    if fault is not None:
        table["fault"] = {"what": fault.what, "at": fault.at, "fix": fault.fix}
    try:
        for folder in folders:
            disk.keep_json(folder / "run.json", table, indent=1)
    except RunFault:
        if state == "done":  # a full disk is the fault then; else it must not hide the first one
            raise
