"""A group that was named, as it is now: folders, members, levels.

Nothing is changed here; `groups` takes it and sets its levels.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import Any

from sojourn.controllers.look import BEST_EFFORT, Allocation, Knob, Level
from sojourn.errors import HostFault
from sojourn.host.tree import Tree, cpu_list
from sojourn.knobs import Lack, Turned
from sojourn.knobs import groups as knob_groups
from sojourn.knobs.cpu_idle import CpuIdle
from sojourn.knobs.cpu_quota import CpuQuota
from sojourn.knobs.cpu_weight import USUAL, CpuWeight
from sojourn.knobs.limit import Limit
from sojourn.manage import actuators, levels, limits, locks, members, placed
from sojourn.manage.actuators import Actuator, Member
from sojourn.manage.config import GroupSpec
from sojourn.manage.notes import Notes
from sojourn.manage.placed import CPUSET
from sojourn.manage.process import Process


@dataclass(slots=True)
class Named:
    """One named group.

    Attributes:
        cpus: that all groups share, ascending.
        cpu, cpuset: its folder in the hierarchy of that controller; None: it has none.
        others: its folders for the knobs of `limits`.
        actuators: its knobs that are no files of it; a service has none.
        disk: that its knob `io` is about, "MAJOR:MINOR"; "": none.
        allocation: what the manager has set.
        start: what was in force before it.
        own: CPUs that the manager has set; none: it has not set any.
        first: of a service: how many CPUs the services before it have.
    """

    name: str
    spec: GroupSpec
    cpus: tuple[int, ...]
    tree: Tree
    cpu: knob_groups.Group | None = None
    cpuset: knob_groups.Group | None = None
    others: dict[Knob, knob_groups.Group] = field(default_factory=dict)
    actuators: dict[Knob, Actuator] = field(default_factory=dict)
    disk: str = ""
    allocation: Allocation = field(default_factory=Allocation)
    start: Allocation = field(default_factory=Allocation)
    own: tuple[int, ...] = ()
    first: int = 0
    _moved: set[Knob] = field(default_factory=set)
    _process: Process | None = None
    _notes: Notes | None = None
    _folders: tuple[str, ...] = ()
    _id: tuple[int, int] = (0, 0)  # of the first of them

    @property
    def is_best_effort(self) -> bool:
        """Whether it gives way to services."""
        return self.spec.role == BEST_EFFORT

    @property
    def is_there(self) -> bool:
        """Whether the process, or the group, still is; another one of that name is not it."""
        if self.spec.pid:
            is_alive = self._process is not None and self._process.is_alive
            return is_alive or bool(self.pids())  # the second reads all of /proc
        return self._folders != () and locks.identity(self.tree, self._folders[0]) == self._id

    @property
    def is_made_anew(self) -> bool:
        """Whether a group that vanished is there again, in every hierarchy, with a process."""
        return all(map(self.tree.exists, self._folders)) and bool(self.pids())

    def pids(self) -> tuple[int, ...]:
        """Numbers of the processes in it and below."""
        if self.spec.pid:
            return self._process.pids() if self._process else ()
        return members.pids(self.tree, self._folders[0]) if self._folders else ()

    def _above(self) -> list[str]:
        """The folders above its own, each once."""
        every = [one for one in (self.cpu, self.cpuset, *self.others.values()) if one]
        above = [locks.above(self.tree, one.folder, one.hierarchy.mount) for one in every]
        return [*dict.fromkeys(folder for one in above for folder in one)]

    def find(self) -> None:
        """Find its folders, and read what is in force; HostFault if there is no such group."""
        if self.spec.pid:
            self._process = Process.of(self.spec.pid)
            if not self.is_there:
                raise self._absent(f"there is no process {self.spec.pid}")
            self.actuators = self._actuators(None)
            return
        self.cpu, self.cpuset = self._named("cpu"), self._named("cpuset")
        self.disk = limits.disk(self.tree, self.spec.disk)
        if self.spec.disk and not self.disk:
            raise self._absent(f"{self.spec.disk} is on no disk that could be limited")
        self.others = limits.find(self._named, self.tree, self.disk)
        if self.cpu is None and self.cpuset is None:
            raise self._lacking()
        if self.cpu is not None and self._limit(CpuQuota).read_back(self.cpu)[2]:
            raise self._absent("its quota has a burst, which is not supported")
        every = (self.cpu, self.cpuset, *self.others.values())
        self._folders = tuple(dict.fromkeys(one.folder for one in every if one))
        self._id = locks.identity(self.tree, self._folders[0])
        self.allocation = self.start = self.read()
        self.actuators = self._actuators(None)

    def _actuators(self, book: Any) -> dict[Knob, Actuator]:
        """Those of the group as it is now; without a book (None) they only say what they lack."""
        first = next(iter(self.pids()), 0)
        on = Turned(label=self.name, leader=first, book=book, tree=self.tree, pids=self.pids)
        return actuators.of(Member(spec=self.spec, on=on, cpus=self._own_cpus))

    def _own_cpus(self) -> tuple[int, ...]:
        """CPUs that are its own by `cores`; none where it may use all, or has none."""
        count = self.allocation.cores
        is_some = count and self.cpuset and count < len(self.cpus)
        return placed.own(self.cpus, count, None) if is_some else ()

    def refuses(self, knob: Knob, level: Level) -> str:
        """Why it has no such level on this machine; "": it may have."""
        try:
            levels.changed(self.allocation, knob, level, len(self.cpus))
            if knob in self.actuators:
                self.actuators[knob].check(level)
        except ValueError as error:
            return str(error)
        return ""

    def lacks(self) -> dict[Knob, Lack]:
        """What keeps its actuators from being used here, by knob."""
        every = {knob: one.lack() for knob, one in self.actuators.items()}
        return {knob: lack for knob, lack in every.items() if lack is not None}

    def _restore_actuators(self) -> list[str]:
        """Put back what they have set; what could not be."""
        return [why for one in self.actuators.values() for why in one.restore()]

    def _lies_beyond_cpu(self) -> str:
        """Where a level that is not of CPU time does not read back; "": all do."""
        allocation = self.allocation
        others = (
            limits.lies(knob, self.others[knob], self.disk, getattr(allocation, knob))
            for knob in self._moved
        )
        every = (one.lies() for one in self.actuators.values())
        return next((why for part in (others, every) for why in part if why), "")

    def _absent(self, what: str) -> HostFault:
        fix = "see /proc/PID/cgroup for the path of a process's group"
        return HostFault(what, at=f"groups.{self.name}", fix=fix)

    def _lacking(self) -> HostFault:
        """It has none of the controllers that matter, or is not there at all."""
        every = (knob_groups.find(self.tree, name) for name in ("cpu", "cpuset"))
        mounts = [one.mount for one in every if one]
        folders = [posixpath.join(mount, self.spec.cgroup.lstrip("/")) for mount in mounts]
        if not any(self.tree.exists(f"{one}/cgroup.procs") for one in folders):
            return self._absent(f"there is no control group {self.spec.cgroup}")
        return HostFault(
            f"the control group {self.spec.cgroup} has neither the controller cpu nor cpuset",
            at=f"groups.{self.name}",
            fix="have the groups above hand one on, as `systemctl set-property UNIT CPUWeight=100` "
            "does for a unit",
        )

    def _named(self, controller: str) -> knob_groups.Group | None:
        result = knob_groups.find(self.tree, controller)
        if result is None:
            return None
        folder = posixpath.join(result.mount, self.spec.cgroup.lstrip("/"))
        if not self.tree.exists(f"{folder}/cgroup.procs"):
            return None
        if result.version == 2 and controller not in (
            (self.tree.text(f"{folder}/cgroup.controllers") or "").split()
        ):
            return None
        return knob_groups.Group(
            tree=self.tree, hierarchy=result, folder=folder, home=folder, entry=0
        )

    def read(self) -> Allocation:
        """What is in force, read back."""
        rest: dict[str, Level] = {
            knob: limits.read(knob, one, self.disk) for knob, one in self.others.items()
        }
        return self._read_cpu().model_copy(update=rest)

    def _read_cpu(self) -> Allocation:
        """The part that is about CPUs."""
        quota, weight, idle, cores = None, USUAL, False, None
        if self.cpu is not None:
            quota_us, period_us, _ = self._limit(CpuQuota).read_back(self.cpu)
            quota = None if quota_us is None else quota_us / period_us
            idle = bool(self._limit(CpuIdle).read_back(self.cpu))
            weight = USUAL if idle else max(1, self._limit(CpuWeight).read_back(self.cpu))
        if self.cpuset is not None:
            cores = placed.count(cpu_list(self.cpuset.text(CPUSET)), self.cpus)
        return Allocation(cores=cores, quota=quota, weight=weight, idle=idle)

    def _limit(self, kind: type[Limit]) -> Any:
        """A knob of this group, for its files and their forms; it is never applied."""
        book: Any = self._notes.book if self._notes else None
        return kind(Turned(label=self.name, leader=self.spec.pid, book=book, tree=self.tree))
