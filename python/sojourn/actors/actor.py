"""An actor: whoever is on the stage while a point is measured, and what it finds there.

Services, neighbours, clients, probes and managers have one life in common: they enter before the
load runs, in the order of their roles, and leave after it in reverse. `run.scene` keeps that order,
and lets everybody leave whatever fails; an actor only says what it does when it enters and leaves.
"""

from __future__ import annotations

import math
import signal
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias

from sojourn.host import Facts, Placement
from sojourn.knobs import Knob, Offered, Turned
from sojourn.places.foreign import Foreign
from sojourn.places.ledger import Book
from sojourn.places.place import GuestLinks
from sojourn.places.proc import Stat
from sojourn.places.process import Process
from sojourn.places.process_end import Ended
from sojourn.places.task import Task
from sojourn.plan import Point
from sojourn.spec import ServiceSpec

Window: TypeAlias = Mapping[str, Any]


class Role(StrEnum):
    """What somebody is on the stage for, in the order of entering; each role has CPUs."""

    SERVICE = "service"
    NEIGHBOUR = "neighbour"
    PROBE = "probe"
    MANAGER = "manager"
    CLIENT = "client"


class Running(Protocol):
    """What an actor may know of a service that runs."""

    label: str
    placement: Placement
    process: Process | Foreign | None
    levels: Mapping[str, str]
    knobs: Mapping[str, Knob]
    turned: Turned | None
    offered: Mapping[str, Offered]

    @property
    def guest_links(self) -> GuestLinks | None:
        """Links of this machine that carry what it moves; None: it is in no guest."""

    @property
    def is_shielded(self) -> bool:
        """Whether its threads go before all others on their CPUs (M32)."""

    def members(self) -> tuple[Stat, ...]:
        """Its living processes; none where they cannot be seen."""

    def tasks(self) -> tuple[Task, ...]:
        """The threads of those processes."""

    def cpu_ns(self) -> int:
        """CPU time its living processes have used, ns."""

    def workers_cpu_ns(self) -> Mapping[int, int]:
        """CPU time of each worker so far, ns, by thread; nothing where they cannot be known."""


class Stage(Protocol):
    """What a scene offers an actor."""

    @property
    def point(self) -> Point:
        """What is measured, its setting included."""

    @property
    def spec(self) -> ServiceSpec:
        """The service under load, as the study has it."""

    @property
    def folder(self) -> Path:
        """The point's own: whatever is left there is stored with its result."""

    @property
    def facts(self) -> Facts:
        """What is known of this machine."""

    @property
    def services(self) -> Mapping[str, Running]:
        """Those that run, by label."""

    @property
    def cpus(self) -> Mapping[Role, tuple[int, ...]]:
        """Where each role runs; empty for neighbours where no CPU is left for them alone."""

    @property
    def knobs(self) -> Mapping[str, Knob]:
        """What may be turned while load runs, by name."""

    @property
    def book(self) -> Book:
        """Where it is noted what must be undone."""

    @property
    def entered(self) -> Sequence[Actor]:
        """Who has entered so far, in order."""

    @property
    def seen(self) -> Mapping[str, Any]:
        """What those who have left have seen."""

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
        """Start a program in the point's folder; it is in the journal, so it never outlives it."""

    def end(
        self, task: Process, *, within_s: float = 20.0, first: signal.Signals = signal.SIGTERM
    ) -> Ended:
        """End a program that was started here; nothing of it is left."""


class Actor(ABC):
    """Somebody on the stage; made anew for each scene, but for services, which live longer."""

    role: ClassVar[Role]
    every_s: ClassVar[float] = math.inf  # how often it must hear of the load while that runs, s
    name: str

    @abstractmethod
    def enter(self, stage: Stage) -> None:
        """Begin; what fails here fails the point."""

    @abstractmethod
    def leave(self) -> None:
        """End and undo all that was begun; called once, also after an `enter` that failed."""

    def second(self, line: Mapping[str, Any]) -> None:
        """Load goes on; `line` is the generator's, at least one every `every_s`."""
        del line

    def window(self) -> Window | None:
        """What it sees now, while load runs, for managers; None: nothing."""
        return None

    def saw(self) -> Mapping[str, Any]:
        """Keys of `host.json`, known after it has left."""
        return {}


def cpu_roles(where: Placement, usable: Collection[int]) -> dict[Role, tuple[int, ...]]:
    """Which CPUs each role has.

    Args:
        where: of server, client and everything else.
        usable: all CPUs of the machine.

    Returns:
        CPUs by role, ascending. Neighbours have those that no one else has; it may be none.
    """
    taken = {*where.server, *where.client, *where.housekeeping}
    return {
        Role.SERVICE: where.server,
        Role.CLIENT: where.client,
        Role.PROBE: where.housekeeping,
        Role.MANAGER: where.housekeeping,
        Role.NEIGHBOUR: tuple(sorted({*usable} - taken)),
    }
