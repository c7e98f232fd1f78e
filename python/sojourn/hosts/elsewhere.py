"""Neighbours on hosts of their own; seconds of load for the service's host."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.actors import Actor, Role, Stage, measured
from sojourn.errors import Fault
from sojourn.hosts import answers
from sojourn.hosts.crew import ANSWER_S_MAX
from sojourn.hosts.engine import Pending
from sojourn.hosts.station import Station, fault_of
from sojourn.plan import Point, codec
from sojourn.run.generator import Watcher
from sojourn.run.watch import Event, Show


class Elsewhere(Actor):
    """The neighbours of a point, on other hosts; it enters for all of them."""

    role = Role.NEIGHBOUR
    name = "neighbours elsewhere"

    def __init__(self, stations: Sequence[Station]) -> None:
        self._stations = stations
        self._entered: list[Station] = []
        self._folder = Path()
        self._saw: dict[str, Any] = {}

    def enter(self, stage: Stage) -> None:
        """Let them enter, host by host."""
        self.begin(stage.point, stage.folder)

    def begin(self, point: Point, folder: Path) -> None:
        """Let them enter for a point; their files go to its folder.

        Raises:
            Fault: they cannot.
        """
        self._folder = folder
        first = 1
        for station in self._stations:
            self._entered.append(station)
            station.tell("company", point=codec.to_json(point), first=first)
            reply = station.wait("company", "done")
            if reply["say"] == "done":
                self._entered.pop()
                raise fault_of(reply, station.text)
            first += len(point.rules.neighbours or (1,))

    def leave(self) -> None:
        """Let them leave, and bring home their files; the first fault is raised."""
        faults: list[Fault] = []
        for station in reversed(self._entered):
            try:
                station.tell("leave", **_ago(self._folder))
                reply = station.wait("done")
                with station.understood(), answers.sensible():
                    self._saw |= answers.table(reply["seen"])
                station.bring([self._folder])
                faults += [fault_of(reply, station.text)] if reply["fault"] is not None else []
            except Fault as fault:
                faults.append(fault)
        if faults:
            raise faults[0]

    def saw(self) -> Mapping[str, Any]:
        """What each of them was and did."""
        return self._saw


def _ago(folder: Path) -> dict[str, Any]:
    """When the load of a point was measured, for hosts with clocks of their own; {} without one."""
    part = measured.part_ns(folder)
    if part is None:
        return {}
    began_ns, ended_ns = part
    return {"began_ago_ns": time.time_ns() - began_ns, "measured_s": (ended_ns - began_ns) / 1e9}


class Passing(Watcher):
    """Passes seconds of load on to the stage of the server, and hears of its end.

    It does not wait for the server's agent: clients that are not asked meanwhile would take the
    driver for dead. What comes before the agent has answered is left out.
    """

    def __init__(self, server: Station, point: Point, show: Show) -> None:
        self._server, self._point, self._show = server, point, show
        self._pending: Pending | None = None
        self._since_s = 0.0

    @property
    def every_s(self) -> float:
        """Once a second: managers there decide by it."""
        return 1.0

    def sources(self) -> list[int]:
        """Readable once the stage has answered."""
        return [self._server.fileno()]

    def look(self) -> None:
        """Raise what the stage reports of a failure."""
        self._server.look()

    def second(self, line: Mapping[str, Any]) -> None:
        """Show a second of load, and pass it on.

        Raises:
            RunFault: the server's agent does not answer.
        """
        key, service = self._point.key, self._point.service
        self._show(Event(step="measure", text=key, service=service, second=line))
        if self._pending is not None:
            is_late = time.monotonic() - self._since_s > ANSWER_S_MAX
            if not self._pending.is_there() and not is_late:
                return
            self._server.answer(self._pending, 0.0)
        self._since_s = time.monotonic()
        self._pending = self._server.send("second", line=dict(line))
