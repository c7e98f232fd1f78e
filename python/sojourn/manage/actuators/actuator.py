"""An actuator: one knob of a best-effort group that is no file of it.

    lack → apply(level) → lies, over … apply(level) → … → restore

What it changes is in the journal before, in the entries of the knob of `sojourn.knobs` that it
uses, so `sojourn restore` undoes it too. No probe runs: it would take from the service what the
manager protects. So the effect is seen by what the kernel counts of the group itself (`over`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from sojourn.controllers.look import Knob, Level
from sojourn.errors import HostFault, RunFault
from sojourn.knobs import Lack, Turned
from sojourn.knobs.machine import only_read
from sojourn.manage.config import GroupSpec

ERRORS = (HostFault, OSError, ValueError)
READ = only_read("no probe runs beside a service")  # in place of a probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """The group that an actuator is of.

    Attributes:
        on: its threads, the machine, and the journal.
        cpus: lists the CPUs that are its own; none where it has all of them.
    """

    spec: GroupSpec
    on: Turned
    cpus: Callable[[], tuple[int, ...]]


class Actuator(ABC):
    """One knob of one group; nothing is set before the first `apply`."""

    knob: ClassVar[Knob]

    def __init__(self, member: Member) -> None:
        """Nothing is set yet, and nothing of the machine is read."""
        self.member = member
        self.level: Level = None

    @abstractmethod
    def lack(self) -> Lack | None:
        """What this machine or the group lacks for it; None: nothing."""

    def check(self, level: Level) -> None:
        """ValueError where this machine has no such level, as far as that is known before."""
        del level

    @abstractmethod
    def put(self, level: Level) -> None:
        """Set a level that is not None; HostFault, OSError or ValueError where it is refused."""

    @abstractmethod
    def differs(self) -> str:
        """Where the level that was set does not read back; "": all of it does.

        Threads and CPUs that the group has got since are given the level first.
        """

    @abstractmethod
    def take_off(self) -> str:
        """Put back what was before the first `put`; what could not be, or ""."""

    def over(self, t_s: float) -> str:
        """How the group uses more than it may, as the kernel counts it; "": it does not.

        Args:
            t_s: the time of this look, s.
        """
        del t_s
        return ""

    def lies(self) -> str:
        """Where what was set is not in force; "": all of it is, or nothing was set."""
        if self.level is None:
            return ""
        try:
            return self.differs()
        except ERRORS as error:
            return f"{self.knob}: {_why(error)}"

    def apply(self, level: Level) -> None:
        """Set a level; None: what was before the manager. OSError or ValueError if refused."""
        if level is None:
            self.level = None
            if why := self.take_off():
                raise OSError(0, why)
            return
        if lack := self.lack():
            raise ValueError(f"it lacks {lack.missing}: {lack.fix}")
        try:
            self.put(level)
        except HostFault as fault:
            raise OSError(0, fault.what) from None
        self.level = level

    def restore(self) -> list[str]:
        """Put everything back; what could not be."""
        self.level = None
        try:
            why = self.take_off()
        except (*ERRORS, RunFault) as error:  # other knobs and groups must be put back as well
            why = f"{self.knob}: {_why(error)}"
        return [why] if why else []


def _why(error: Exception) -> str:
    """What is wrong, in words."""
    return str(getattr(error, "what", None) or getattr(error, "strerror", None) or error)
