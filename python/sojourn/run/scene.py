"""A scene: who is on the stage while one point is measured, entered in order, left in reverse.

    with Scene(point, …) as scene:
        scene.enter(service)         # kept over the points of one life, so it mostly just bows
        for actor in cast: scene.enter(actor)
        … load runs, and `second` is called …

Whatever fails, everybody who has begun to enter leaves, once, and the first fault is the one that
is told. Every program that an actor starts is in the journal, so it is ended after `kill -9`, too.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sojourn.actors import Actor, Role, Running, cpu_roles
from sojourn.actors.managers import Manager
from sojourn.host import Facts, Placement
from sojourn.knobs import Knob
from sojourn.places import process
from sojourn.places.ledger import Book
from sojourn.places.process import Process
from sojourn.places.process_end import Ended
from sojourn.plan import Point
from sojourn.run import signals
from sojourn.run.grouping import Companions
from sojourn.run.live import RunningService
from sojourn.spec import ServiceSpec

END_S_MAX = 20.0
CLIENT = "client"  # whose window is the generator's line, of all services


class Scene:
    """The actors of one point, and what they find: an `actors.Stage`."""

    def __init__(
        self,
        *,
        point: Point,
        spec: ServiceSpec,
        folder: Path,
        placement: Placement,
        facts: Facts,
        book: Book,
        services: Mapping[str, Running],
        companions: Companions | None = None,
    ) -> None:
        """No one has entered yet.

        Args:
            point: to be measured.
            spec: the service under load.
            folder: of the point.
            placement: who runs where.
            facts: of the machine.
            book: where it is noted what is started, and what else must be undone.
            services: those of this scene, by label.
            companions: puts clients and neighbours into their groups; None: they stay as they are.
        """
        self.point = point
        self.spec = spec
        self.folder = folder
        self.facts = facts
        self.services = services
        self.cpus = cpu_roles(placement, [cpu.id for cpu in facts.topology.usable])
        self.book = book
        self._companions = companions
        self._entered: list[Actor] = []
        self._seen: dict[str, Any] = {}
        self._faults: list[Exception] = []
        self._clients: dict[str, Mapping[str, Any]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)
        if error is None and self._faults:
            raise self._faults[0]

    @property
    def knobs(self) -> Mapping[str, Knob]:
        """All knobs of the services that run, by `LABEL.NAME`: `memcached.cpuset`."""
        return {
            f"{label}.{name}": knob
            for label, service in self.services.items()
            for name, knob in service.knobs.items()
        }

    @property
    def entered(self) -> Sequence[Actor]:
        """Who is on the stage, in order."""
        return tuple(self._entered)

    @property
    def seen(self) -> Mapping[str, Any]:
        """What those who have left have seen: the keys of `host.json`."""
        return self._seen

    def note(self, seen: Mapping[str, Any]) -> None:
        """Keep what the lab itself saw of the load."""
        self._seen.update(seen)

    def enter(self, actor: Actor) -> None:
        """Let somebody enter; from now on it leaves, also if it fails half-way."""
        self._stack.callback(self._leave, actor)
        self._entered.append(actor)
        actor.enter(self)

    def _leave(self, actor: Actor) -> None:
        """Let it leave; what fails keeps no one else from leaving, nor hides what failed first."""
        try:
            actor.leave()
        except Exception as fault:  # noqa: BLE001  # kept, and raised when all have left
            self._faults.append(fault)
        finally:
            self._seen.update(actor.saw())
            self._entered.remove(actor)

    @property
    def every_s(self) -> float:
        """How often whoever is on the stage must know how the load goes on, s."""
        return min((actor.every_s for actor in self._entered), default=math.inf)

    def second(self, line: Mapping[str, Any]) -> None:
        """A line of progress has come: managers are told what everybody sees, and decide."""
        for actor in self._entered:
            actor.second(line)
        managers = [actor for actor in self._entered if isinstance(actor, Manager)]
        if not managers:
            return
        windows = {a.name: window for a in self._entered if (window := a.window()) is not None}
        each = {f"{label}.{CLIENT}": of for label, of in self._clients.items()}
        for manager in managers:
            manager.period({CLIENT: line, **each, **windows})

    def heard(self, label: str, line: Mapping[str, Any]) -> None:
        """What the clients of one service saw in a second, for managers: `memcached.client`."""
        self._clients[label] = line

    def start(
        self,
        what: str,
        argv: Sequence[str | Path],
        *,
        log: str,
        cpus: Sequence[int],
        has_stderr_pipe: bool = False,
        is_first: bool = False,
    ) -> Process:
        """Start a program in the point's folder, noted so that it never outlives the lab."""
        newest = self._entered[-1] if self._entered else None
        is_neighbour = newest is not None and newest.role is Role.NEIGHBOUR
        party = str(getattr(newest, "text", what)) if is_neighbour else ""
        made: Process | None = None
        try:
            with signals.deaf():
                made = process.start(
                    what,
                    argv,
                    cwd=self.folder,
                    ledger=self.book,
                    log=self.folder / log,
                    cpus=cpus,
                    has_stderr_pipe=has_stderr_pipe,
                    is_first=is_first,
                    groups=self.groups(party) if party else (),
                )
            if party:
                self.admit(party, made)
        except BaseException:
            if made is not None:  # its actor does not know of it yet
                self.end(made)
            raise
        return made

    def groups(self, party: str) -> tuple[Path, ...]:
        """Control groups in which a client or neighbour of this scene is to start."""
        if self._companions is None:
            return ()
        live = self.services.get(self.point.service)
        with signals.deaf():
            return self._companions.place(party, live if isinstance(live, RunningService) else None)

    def admit(self, party: str, started: Process) -> None:
        """Keep how a client or neighbour that has just started is grouped, for `host.json`."""
        if self._companions is not None:
            self._seen["groups"] = dict(self._companions.admit(party, started))

    def end(
        self,
        task: Process,
        *,
        within_s: float = END_S_MAX,
        first: signal.Signals = signal.SIGTERM,
    ) -> Ended:
        """End a program that was started here, and wait until nothing of it is left."""
        with signals.deaf():
            return task.stop(term_s=within_s, first=first)
