"""All of a point but its load, on the host of the service, for an agent.

    driver                agent              this program
      │ measure(point) ────►│ ─── a line ──────►│ service, neighbours, probes enter, as on one host
      │◄──── "ready", job ──│◄──────────────────│
      │ load from all clients                   │ waits; managers hear of every second
      │ over ──────────────►│ ─── a line ──────►│ all leave
      │◄──── "done", files ─│◄──────────────────│

It is `run.execute` with a source of load that waits for the driver. So whatever a point has on one
host it has here: knobs, shield, pins, fills, probes. The end of its input ends it, in order.

    {"do": "open", "study": TOML, "address": "10.0.0.2", …}       {"say": "open", "skipped": […]}
    {"do": "measure", "point": {…}}                               {"say": "ready", "loads": […]}
    {"do": "second", "line": {…}}, {"do": "over", …}              {"say": "done", "fault": null}
    {"do": "company", "point": {…}, …}, {"do": "leave"}           {"say": "company"}, …
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn import actors, disk, host, questions, run, spec
from sojourn.actors import Actor, Catalogue, Role, measured
from sojourn.actors.neighbours import Neighbour
from sojourn.errors import Exit, Fault, RunFault
from sojourn.host import Facts
from sojourn.host.shared import KERNEL, MACHINE
from sojourn.places.process import Ledger
from sojourn.plan import Point, codec, design
from sojourn.run import signals, work
from sojourn.run.clients import Load
from sojourn.run.generator import Watcher
from sojourn.run.generator_job import length_s_max
from sojourn.run.journal import Journal
from sojourn.run.scene import Scene
from sojourn.run.session import placement
from sojourn.spec import ServiceSpec, Study
from sojourn.stage_lines import Ears, Mouth, plain, silent

STUDY = "study.toml"
LATE_S = 120.0  # after the end of the load, until the driver says so


class Stage:
    """What the lines ask for, while one study is measured."""

    def __init__(self, opening: Mapping[str, Any], ears: Ears, mouth: Mouth) -> None:
        self._ears, self._mouth = ears, mouth
        self._opening = opening
        self._has_neighbours = bool(opening["neighbours"])
        self._count = 0

    def play(self) -> None:
        """Open the study, and do what is asked until the input ends."""
        facts = host.read(sample_s=0.0)  # the driver waits
        with _Folder() as folder:
            disk.keep_text(folder / STUDY, str(self._opening["study"]))
            study = spec.load(folder / STUDY, is_own=True)
            held = run.hold(study, facts, questions.catalogue())
            with run.taken(study.name, self._show, is_forced=bool(self._opening["is_forced"])):
                self._mouth.say(
                    "open",
                    machine=_machine(facts),
                    skipped=[one.table for one in held.skipped],
                    faults=[plain(fault) for fault in held.faults],
                )
                self._follow(study, facts, folder)

    def _follow(self, study: Study, facts: Facts, folder: Path) -> None:
        source = run.Source(
            offer=self._hold,
            address=str(self._opening["address"]),
            rows=(*((str(a), str(b)) for a, b in self._opening["rows"]), *_rows(facts)),
            cast=self._cast,
        )
        whole = questions.catalogue()
        with run.Session(
            facts, show=self._show, whole=study, catalogue=whole, source=source
        ) as session:
            while True:
                asked = self._ears.line()
                if asked["do"] == "measure":
                    self._measure(study, codec.from_json(asked["point"]), session, folder)
                elif asked["do"] == "company":
                    point, first = codec.from_json(asked["point"]), int(asked["first"])
                    self._company(study, point, session, folder, first)

    def _folders(self, folder: Path, n: int) -> list[Path]:
        self._count += 1
        if self._count > 1:
            disk.tree.remove(folder / f"points{self._count - 1}")
        result = [folder / f"points{self._count}" / str(nth) for nth in range(n)]
        for one in result:
            one.mkdir(parents=True)
        return result

    def _measure(self, study: Study, point: Point, session: run.Session, folder: Path) -> None:
        folders = self._folders(folder, len(point.all))
        reply: dict[str, Any] = {"folders": [str(one) for one in folders]}
        under = design.study_of(study, point)
        try:
            run.execute(under, point, folders[0], session, folders[1:])
        except Fault as fault:
            self._mouth.fault("done", fault, **reply)
        else:
            self._mouth.say("done", fault=None, **reply)

    def _hold(
        self, loads: Sequence[Load], ledger: Ledger, watcher: Watcher | None = None
    ) -> list[Mapping[str, Any]]:
        """Say that load may come, and watch until it is over; an `Offer`.

        Raises:
            RunFault: the driver said why the load failed, or nothing for far too long.
        """
        del ledger
        watcher = watcher or Watcher()
        table = [{"job": dict(load.job), "n": load.n} for load in loads]
        self._mouth.say("ready", loads=table)
        length_s = max(length_s_max(load.job) for load in loads) + LATE_S
        end = time.monotonic() + length_s
        while True:
            left_s = max(0.0, end - time.monotonic())
            ready, _, _ = select.select([self._ears.fileno(), *watcher.sources()], [], [], left_s)
            if self._ears.fileno() not in ready:
                if not left_s:
                    raise silent(length_s)
                watcher.look()
                continue
            heard = self._ears.line()
            end = time.monotonic() + length_s
            if heard["do"] == "second":
                watcher.of_load(0, heard["line"])
                watcher.second(heard["line"])
            elif heard["do"] == "over":
                _note_load([load.files.result.parent for load in loads], heard)
                if heard["why"]:
                    raise RunFault(str(heard["why"]), at="hosts", fix="see the driver's own words")
                return []

    def _cast(
        self, study: Study, service: ServiceSpec, point: Point, catalogue: Catalogue
    ) -> Sequence[Actor]:
        every = actors.cast(study, service, point, catalogue)
        return [a for a in every if self._has_neighbours or a.role is not Role.NEIGHBOUR]

    def _company(
        self, study: Study, point: Point, session: run.Session, folder: Path, first: int
    ) -> None:
        """Let the neighbours of a point enter, and leave when they are asked to."""
        (own,) = self._folders(folder, 1)
        under = design.study_of(study, point)
        service = under.service(point.service)
        scene = Scene(
            point=point,
            spec=service,
            folder=own,
            placement=placement(service, session.facts, study),
            facts=session.facts,
            book=session.journal,
            services={},
        )
        reply: dict[str, Any] = {"folders": [str(own)]}
        cast = actors.cast(under, service, point, session.catalogue)
        try:
            with scene:
                for nth, actor in enumerate(a for a in cast if isinstance(a, Neighbour)):
                    actor.number = first + nth
                    scene.enter(actor)
                self._mouth.say("company")
                while (heard := self._ears.line())["do"] != "leave":
                    continue
                _note_load([own], heard)
        except Fault as fault:
            self._mouth.fault("done", fault, seen=dict(scene.seen), **reply)
        else:
            self._mouth.say("done", fault=None, seen=dict(scene.seen), **reply)

    def _show(self, event: run.Event) -> None:
        if not event.second:
            self._mouth.say("event", step=event.step, text=event.text, service=event.service)


def _note_load(folders: Sequence[Path], heard: Mapping[str, Any]) -> None:
    """When the load was, by the clock of this host, for those who sampled or ran beside it."""
    if heard.get("began_ago_ns") is None:
        return
    table = {
        "started_unix_ns": time.time_ns() - int(heard["began_ago_ns"]),
        "measured_s": float(heard["measured_s"]),
    }
    for folder in folders:
        disk.keep_json(folder / measured.LOAD, table)


def _machine(facts: Facts) -> str:
    """What this host is, for people."""
    cpus, quota = facts.topology.usable, facts.cgroup.cpu_quota
    limit = "" if quota is None else f", a quota of {quota:.3g}"
    return f"{facts.topology.model}, {len(cpus)} CPU{'s' * (len(cpus) != 1)}{limit}"


def _rows(facts: Facts) -> tuple[tuple[str, str], ...]:
    """The same for `service.json`: equal machines must not differ in it."""
    return (MACHINE, _machine(facts)), (KERNEL, facts.kernel.release)


class _Folder:
    """A folder of the stage's own, which a journal has."""

    def __enter__(self) -> Path:
        self._journal = Journal.create()
        self.path, self._entry = work.make(self._journal, None)
        return self.path

    def __exit__(self, *error: object) -> None:
        work.remove(self.path, self._entry, self._journal)
        self._journal.close()


def main() -> int:
    """Do what is asked on stdin until it ends."""
    mouth = Mouth()
    os.dup2(2, 1)
    ears = Ears()
    try:
        with signals.ending_in_order():
            Stage(ears.line(), ears, mouth).play()
    except Fault as fault:
        mouth.fault("fault", fault)
        return Exit.FAILED
    except KeyboardInterrupt:
        return Exit.OK
    return Exit.OK


if __name__ == "__main__":
    sys.exit(main())
