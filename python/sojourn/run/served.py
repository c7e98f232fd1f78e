"""The service under load as an actor: it enters the scene of every point of its life.

first point: begin → measured ─► leaves, and runs on
next point:  its shield is completed → measured ─► leaves, and runs on … → end of its life
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn import disk
from sojourn.actors import Actor, Role, Stage, Window, clients
from sojourn.errors import RunFault
from sojourn.host import cgroups
from sojourn.host.shared import KINDS_OF_CPU
from sojourn.host.tree import Tree, cpu_text
from sojourn.knobs import Offered
from sojourn.places import server_files
from sojourn.plan.setting import NEIGHBOUR
from sojourn.run import grouping, shielded, signals, work
from sojourn.run.begin import begin, let_know
from sojourn.run.journal import Journal
from sojourn.run.live import RunningService
from sojourn.run.watch import Show
from sojourn.services import capabilities
from sojourn.services.capabilities import Audits
from sojourn.spec import ServiceSpec


class Served(Actor):
    """One life of a service."""

    role = Role.SERVICE

    def __init__(
        self, live: RunningService, spec: ServiceSpec, journal: Journal, show: Show
    ) -> None:
        """Nothing is started before the first scene.

        Args:
            live: what is to run, and where.
            spec: as the study has it.
            journal: where it is noted.
            show: told about every step.
        """
        self.live = live
        self.name = live.label
        self._spec = spec
        self._journal = journal
        self._show = show
        self._stage: Stage | None = None
        self._last: Path | None = None  # folder of the last point it served
        self._has_begun = self._has_ended = False

    def serves(self, life: str) -> bool:
        """Whether it can go on to serve points of this life."""
        return not self._has_ended and self.live.life == life and self.live.fault("") is None

    def enter(self, stage: Stage) -> None:
        """Be ready to be measured: started, filled, warmed once; shielded anew for every point."""
        self._stage, self._last = stage, stage.folder
        try:
            if not self._has_begun:
                begin(self.live, self._journal, stage.folder, self._show, self._spec.job)
                self._has_begun = True
            self._among(self.live.offered)
            shielded.renew(self.live)
        except BaseException:
            self.live.keep_log(stage.folder)
            self.end()  # a server that is not filled and checked must not meet the next point
            raise

    def leave(self) -> None:
        """Say what served, and serve on."""
        stage = self._stage
        if stage is None or self._has_ended:
            return
        self.live.keep_log(stage.folder)
        busy_s = stage.seen.get("server_cpu_s")
        if busy_s is not None:
            shielded.look(self.live, busy_s, stage.point.warmup_s + stage.point.measure_s)
        table = facts(self.live, self._spec)
        table["setup"] += _company(stage)
        try:
            table["setup"] += self._audit()
        finally:
            disk.keep_json(stage.folder / "service.json", table, indent=1)
            self._stage = None
        self._among({})

    def _audit(self) -> list[list[str]]:
        """What it says after a run of what it holds; nothing if it has died, which others say."""
        live, service = self.live, self.live.service
        if live.process is None or live.fault("after the run") is not None:
            return []
        if not isinstance(service, Audits):
            return []
        try:
            return [list(row) for row in service.audit(live.address)]
        except RunFault:
            self.end()  # a server whose data are broken must not meet the next point
            raise

    def _among(self, offered: Mapping[str, Offered]) -> None:
        """Let knobs whose level follows from who else is there know of that."""
        for name in self.live.levels:
            if name in self.live.knobs:
                let_know(self.live, name, offered)

    def window(self) -> Window:
        """CPU time it has used so far, s."""
        return {"cpu_s": self.live.cpu_ns() / 1e9}

    def end(self) -> None:
        """End its life; nothing of it is left."""
        if self._has_ended:
            return
        with signals.deaf():
            self.live.stop()
            self._has_ended = True
        if self._last is not None:
            self.live.keep_reports(self._last)
        with contextlib.suppress(OSError):
            server_files.remove(self.live.log)


def _company(stage: Stage) -> list[list[str]]:
    """Who was there with it all the time, for people; a point's own setting says it itself."""
    beside, manager = stage.seen.get("neighbour"), stage.seen.get("manager")
    rows = []
    if beside and NEIGHBOUR not in stage.point.setting:
        cpus = ", ".join(beside["cpu_s"])
        text = f"{beside['kind']} on CPU {cpus}, beside every point, the load axis included"
        if without := beside.get("no_memory_on"):
            text += f"; memory is short, so CPU {cpu_text(tuple(without))} has none"
        rows.append([NEIGHBOUR, text])
    if manager:
        text = f"{manager['kind']}, by sojourn manage: {manager.get('changes', 0)} changes"
        rows.append(["manager", text])
    return rows


def facts(live: RunningService, spec: ServiceSpec) -> dict[str, Any]:
    """`service.json`: what served, for the report and for whoever repeats it by hand."""
    where, turned = live.placement, _turned(live)
    grouped = grouping.facts(live)
    return {
        "schema": "sojourn.service/1",
        "label": live.label,
        "kind": spec.kind,
        "life": live.life,
        "version": capabilities.version(live.service),
        "command": list(live.argv),
        "user": _user(live),
        "pid": live.process.pid if live.process else None,
        "place": spec.place,
        "host": live.address.host,
        "port": live.port or None,
        "workers": capabilities.needs(live.service).workers,
        "pins": {str(tid): cpu for tid, cpu in live.pins.items()},
        "placement": {
            "server": list(where.server),
            "client": list(where.client),
            "housekeeping": list(where.housekeeping),
            "text": where.text,
            "shared": [[shared.what, shared.effect] for shared in where.shared],
            "cpu_kinds": {who: list(kinds) for who, kinds in where.ranks},
        },
        "knobs": turned,
        "groups": grouped,
        "cpu_quota": _quota(live),
        **live.shield.as_json(),
        "setup": [
            list(row)
            for row in (
                *capabilities.setup(live.service),
                *([(KINDS_OF_CPU, where.kinds)] if where.kinds else []),
                *live.notes,
                *(
                    (name, f"{knob['level']}, by {knob['by']}; {knob['felt']}: {knob['why']}")
                    for name, knob in turned.items()
                ),
                (grouping.KEY, grouping.grouping_text(grouped)),
                ("shield", f"{live.shield.name}: {live.shield.text}"),
                *clients.facts(spec.clients, where.client),
            )
        ],
        "took_s": live.took_s,
    }


def _quota(live: RunningService) -> float | None:
    """CPUs that its control groups let it use, by the least of all above it; None: no quota."""
    return cgroups.read(Tree(), live.process.pid).cpu_quota if live.process else None


def _user(live: RunningService) -> str:
    """Who it runs as, for people."""
    if live.is_foreign:
        return "whoever started it"
    user = work.user_of(live.service)
    return user.name if user else "the user who runs the lab"


def _turned(live: RunningService) -> dict[str, dict[str, str]]:
    """Each knob that the study sets: its level, by what, and whether that was felt (M23)."""
    reports = {}
    for name, level in live.levels.items():
        if name in live.knobs:
            knob = live.knobs[name]
            effect = knob.verify()
            reports[name] = {
                "level": level,
                "by": knob.by,
                "felt": effect.verdict,
                "why": effect.why,
            }
    return reports
