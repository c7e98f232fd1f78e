"""A knob that is a limit of a control group: the service is moved in, and its files written.

Several such knobs of a service share its group (`groups`). A file that was written reads back as
the kernel took it, so levels are compared as values. Adding one is a subclass that says how a level
is read and written, and how it is measured to bite.
"""

from __future__ import annotations

import contextlib
import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from sojourn.errors import HostFault
from sojourn.knobs import groups
from sojourn.knobs.groups import Group
from sojourn.knobs.knob import Felt, Knob, Turned
from sojourn.places import proc

UNDO = {groups.ENTRY: groups.undo}
NONE = "none"


class Limit(Knob):
    """One limit of one running service; `name` and `controller` are those of its kind.

    Attributes:
        none_leaves: at "none" the service leaves the group again; else that is a value of its own.
    """

    name: ClassVar[str]
    controller: ClassVar[str]
    none_leaves: ClassVar[bool] = False

    def __init__(self, on: Turned) -> None:
        self._on = on
        self._level = ""
        self._group: Group | None = None
        self._old: Any = None
        self._bites: Felt | None = None

    @abstractmethod
    def value(self, level: str) -> Any:
        """What a level means, to be compared; ValueError if it means nothing."""

    @abstractmethod
    def level(self, value: Any) -> str:
        """A value as a level that `apply` takes."""

    @abstractmethod
    def read_back(self, group: Group) -> Any:
        """The value that is in force in a group, read back."""

    @abstractmethod
    def files(self, value: Any, group: Group) -> Sequence[tuple[str, str]]:
        """What to write for it: (file, text), in this order."""

    @abstractmethod
    def bites(self, value: Any, group: Group) -> Felt:
        """Whether it is measured by a probe in the service's group; about half a second."""

    def refused(self, value: Any, group: Group) -> str:
        """Why a value must not be set on this service; "" if it may."""
        del value, group
        return ""

    @property
    def by(self) -> str:
        """The controller, its version, and the group while there is one."""
        version = self._group.version if self._group else getattr(self._where(), "version", 0)
        return f"cgroup v{version} {self.controller}" if version else "cgroup"

    @property
    def group(self) -> Group | None:
        """The service's group, while the knob is turned; None before."""
        return self._group

    @property
    def asked(self) -> str:
        """The level that was applied last; "" before and after."""
        return self._level

    def _where(self) -> groups.Hierarchy | None:
        return groups.find(self._on.tree, self.controller)

    def read(self) -> str:
        """The level that is in force; "none" before it was turned."""
        return self.level(self.read_back(self._group)) if self._group else NONE

    def apply(self, level: str) -> None:
        """Move all of the service into its group, and set the level there."""
        if self.none_leaves and level == NONE:
            self.restore()
            return
        try:
            value = self.value(level)
            group = groups.join(self._on, self.controller, self.name)
            if self._group is None:
                self._group, self._old = group, self.read_back(group)
            if why := self.refused(value, group):
                raise OSError(0, why)  # noqa: TRY301  # told as what the kernel refuses
            for name, text in self.files(value, group):
                group.write(name, text)
        except (OSError, ValueError) as error:
            raise HostFault(
                f"{self._on.label} cannot be given {self.name} {level}: "
                f"{getattr(error, 'strerror', None) or error}",
                at=self._on.at(self.name),
                fix="see `sojourn doctor`, and docs/howto/knobs.md for what it needs",
            ) from None
        self._level, self._bites = level, None

    def verify(self) -> Felt:
        """Whether all of it is in the group, the level reads back, and a probe felt it."""
        group = self._group
        if not self._level or group is None:
            return Felt(holds=None, why="it was not turned")
        if not proc.session(self._on.leader):
            return Felt(holds=None, why="the service had ended")
        if outside := group.outside(self._on.leader):
            pids = ", ".join(map(str, outside))
            return Felt(holds=False, why=f"processes {pids} are not in its control group")
        result, wanted = self.read_back(group), self.value(self._level)
        if result != wanted:
            return Felt(holds=False, why=f"the kernel says {self.level(result)}")
        if self._bites is None:
            self._bites = self._probed(wanted, group)
        return self._bites

    def _probed(self, wanted: Any, group: Group) -> Felt:
        if not self._on.tree.is_live:
            return Felt(holds=None, why="it reads back; a fake machine cannot be probed")
        try:
            return self.bites(wanted, group)
        except OSError as error:
            return Felt(holds=None, why=f"it reads back, but no probe could run: {error}")

    def restore(self) -> None:
        """Put back what the group had; the last knob of a group takes the service out of it."""
        group, self._group = self._group, None
        if group is not None:
            if group.users != {self.name}:
                # It is gone where a container's runtime, at its end, has removed all below its own.
                with contextlib.suppress(FileNotFoundError):
                    for name, text in self.files(self._old, group):
                        group.write(name, text)
            groups.leave(self._on, group, self.name)
        self._level, self._bites = "", None

    def cpus(self) -> tuple[int, ...]:
        """CPUs that the service may use, for a probe that runs in its place."""
        return tuple(sorted(os.sched_getaffinity(self._on.leader)))


def no_effect(what: str) -> Felt:
    """A cap that does not bite (M23), with what was felt instead."""
    return Felt(holds=False, why=f"the cap had no effect: {what}")
