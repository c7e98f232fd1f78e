"""What an isolation mechanism is to whoever takes its time: two levels, and a way between them.

    lacks → build → prepare → act(1) → act(0) → act(1) → … → amiss → put_back

`prepare` notes in the book what will be changed before anything is, so that it is put back after
`kill -9` in whatever state it is then, and leaves level 0 in force. `act` is what is timed: the
calls to the kernel that the lab's knob makes at run time, and nothing else; no listing of threads,
no journal, no reading back. Levels differ, so that each application really changes something, and
neither holds the service back, so that what is measured is the change and not a cap.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sojourn.host import Facts
from sojourn.knobs import Lack, Turned


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismInputs:
    """What a mechanism is built from.

    Attributes:
        on: the service that runs, as its knobs know it.
        facts: of this machine.
        place: of the service, by name.
        set_already: knobs that the study sets on the service.
        folder: of the point.
        cpus: where programs that it starts may run.
    """

    on: Turned
    facts: Facts
    place: str = "local"
    set_already: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path("/")
    cpus: tuple[int, ...] = ()

    @property
    def usable(self) -> tuple[int, ...]:
        """All CPUs of the machine that may be used, ascending."""
        return tuple(cpu.id for cpu in self.facts.topology.usable)


class Mechanism(ABC):
    """One mechanism between two levels; `levels` and `one` hold once it is prepared.

    Attributes:
        levels: both, for people.
        one: what one application is, for people.
        knob: of the lab, that makes the same change with all that it does beside; "": none.
    """

    knob: str = ""
    levels: tuple[str, str] = ("", "")
    one: str = ""

    @abstractmethod
    def prepare(self) -> None:
        """Note what is to be changed, and put level 0 in force; OSError or Fault if refused."""

    @abstractmethod
    def act(self, which: int) -> None:
        """Put level 0 or 1 in force: what is timed."""

    @abstractmethod
    def amiss(self, which: int) -> str:
        """Read back: "" if that level is in force, else what is instead."""

    def probed(self) -> tuple[int, ...]:
        """Times of a fixed piece of work in what was started last, ns; (): there is none."""
        return ()

    @abstractmethod
    def put_back(self) -> None:
        """Make everything what it was before `prepare`; also after one that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismKind:
    """One kind of mechanism, describing itself.

    Attributes:
        name: as in `plan.questions.isolation_cost.MECHANISMS`.
        about: in a few words.
        is_restart: something is ended and started anew, which takes long: `run.restarts` counts.
        lacks: what this machine lacks for it; None: nothing.
        build: not prepared yet.
    """

    name: str
    about: str
    is_restart: bool = False
    lacks: Callable[[MechanismInputs], Lack | None]
    build: Callable[[MechanismInputs], Mechanism]


def taken(inputs: MechanismInputs, knob: str) -> Lack | None:
    """A knob that the study sets itself is left as it is."""
    if knob not in inputs.set_already:
        return None
    return Lack(missing="freedom to turn it: the study sets it", fix=f"leave out knobs.{knob}")
