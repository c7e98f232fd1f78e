"""A group that was named: its folders, its levels, and how they are set.

    note in the journal → write → read back → cross out the older note

A control group stays where it is and is only written to. A process that was named by its number is
moved, with its children, into a group of the lab's own, which is removed at the end. Files and
their forms are those of the knobs `cpu_quota`, `cpu_weight` and `cpu_idle`; `cores` is the file
`cpuset.cpus`: the last CPUs for best-effort groups, the first for services. The rest is in
`limits`.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.controllers.look import BEST_EFFORT, OFF_CPUS, Allocation, Knob, Level
from sojourn.errors import HostFault
from sojourn.host.tree import Tree, cpu_list, cpu_text
from sojourn.knobs import Turned
from sojourn.knobs import groups as knob_groups
from sojourn.knobs.cpu_idle import CpuIdle
from sojourn.knobs.cpu_quota import PERIOD_US, CpuQuota
from sojourn.knobs.cpu_weight import CpuWeight
from sojourn.knobs.limit import Limit
from sojourn.manage import levels, limits, locks
from sojourn.manage.config import GroupSpec
from sojourn.manage.notes import CAP, Notes, Step
from sojourn.manage.process import Process
from sojourn.places.ledger import Book

USER = "manage"
QUOTA_US_MIN = 1000  # kernel/sched/core.c, min_cfs_quota_period
CPUSET = "cpuset.cpus"


@dataclass(slots=True)
class Managed:
    """One named group.

    Attributes:
        cpus: that all groups share, ascending.
        cpu, cpuset: its folder in the hierarchy of that controller; None: it has none.
        others: its folders for the knobs of `limits`.
        disk: that its knob `io` is about, "MAJOR:MINOR"; "": none.
        allocation: what the manager has set.
        start: what was in force before it.
    """

    name: str
    spec: GroupSpec
    cpus: tuple[int, ...]
    tree: Tree
    cpu: knob_groups.Group | None = None
    cpuset: knob_groups.Group | None = None
    others: dict[Knob, knob_groups.Group] = field(default_factory=dict)
    disk: str = ""
    allocation: Allocation = field(default_factory=Allocation)
    start: Allocation = field(default_factory=Allocation)
    _process: Process | None = None
    _notes: Notes | None = None
    _on: Turned | None = None
    _moved: set[Knob] = field(default_factory=set)
    _locks: list[int] = field(default_factory=list)

    @property
    def is_best_effort(self) -> bool:
        """Whether it gives way to services."""
        return self.spec.role == BEST_EFFORT

    @property
    def is_there(self) -> bool:
        """Whether the group, or the process, still is."""
        if self.spec.pid:
            return bool(self.pids())
        cpu = self.cpu or self.cpuset
        return cpu is not None and self.tree.exists(cpu.folder)

    def pids(self) -> tuple[int, ...]:
        """Numbers of the processes in it."""
        if self.spec.pid:
            return self._process.pids() if self._process else ()
        cpu = self.cpu or self.cpuset
        text = cpu.text("cgroup.procs") if cpu else ""
        return tuple(int(word) for word in text.split() if word.isdigit())

    def find(self) -> None:
        """Find its folders, and read what is in force; HostFault if there is no such group."""
        if self.spec.pid:
            self._process = Process.of(self.spec.pid)
            if not self.is_there:
                raise self._absent(f"there is no process {self.spec.pid}")
            return
        self.cpu, self.cpuset = self._named("cpu"), self._named("cpuset")
        self.disk = limits.disk(self.tree, self.spec.disk)
        if self.spec.disk and not self.disk:
            raise self._absent(f"{self.spec.disk} is on no disk that could be limited")
        self.others = limits.find(self._named, self.tree, self.disk)
        if self.cpu is None and self.cpuset is None:
            raise self._absent(f"there is no control group {self.spec.cgroup}")
        if self.cpu is not None and self._limit(CpuQuota).read_back(self.cpu)[2]:
            raise self._absent("its quota has a burst, which is not supported")
        self.allocation = self.start = self.read()

    def _absent(self, what: str) -> HostFault:
        fix = "see /proc/PID/cgroup for the path of a process's group"
        return HostFault(what, at=f"groups.{self.name}", fix=fix)

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

    def can(self) -> set[str]:
        """Which knobs of it can be moved here."""
        can: set[str] = set()
        if self.spec.pid:
            is_free = knob_groups.find(self.tree, "cpu") is not None
            return {"quota", "weight", "idle"} if is_free else set()
        if self.cpu is not None:
            can |= {"quota", "weight"}
            can |= {"idle"} if self.tree.exists(f"{self.cpu.folder}/cpu.idle") else set()
        if self.cpuset is not None:
            can.add("cores")
        return can | {*self.others}

    def take(self, book: Book) -> None:
        """Become its only manager, and note the safe cap; HostFault if another one has it."""
        self._notes = Notes(self.name, book, self.tree)
        self._on = Turned(label=self.name, leader=self.spec.pid, book=book, tree=self.tree)
        if self.spec.pid:
            self._enter(self._on)
        every = (self.cpu, self.cpuset, *self.others.values())
        for folder in dict.fromkeys(group.folder for group in every if group):
            self._locks.append(locks.locked(self.tree, folder, self.name))
        self.allocation = self.start = self.read()

    def _enter(self, on: Turned) -> None:
        try:
            self.cpu = knob_groups.hold(on, "cpu", USER)
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    knob_groups.put(self.tree, self.cpu.folder, pid)
        except OSError as error:
            raise self._absent(f"it cannot be moved into a group: {error.strerror}") from None

    def read(self) -> Allocation:
        """What is in force, read back."""
        rest: dict[str, Level] = {
            knob: limits.read(knob, one, self.disk) for knob, one in self.others.items()
        }
        return self._read_cpu().model_copy(update=rest)

    def _read_cpu(self) -> Allocation:
        """The part that is about CPUs."""
        quota, weight, idle, cores = None, 100, False, None
        if self.cpu is not None:
            quota_us, period_us, _ = self._limit(CpuQuota).read_back(self.cpu)
            quota = None if quota_us is None else quota_us / period_us
            idle = bool(self._limit(CpuIdle).read_back(self.cpu))
            weight = 100 if idle else max(1, self._limit(CpuWeight).read_back(self.cpu))
        if self.cpuset is not None:
            own = cpu_list(self.cpuset.text(CPUSET))
            cores = None if not own or {*own} >= {*self.cpus} else len({*own} & {*self.cpus})
        return Allocation(cores=cores, quota=quota, weight=weight, idle=idle)

    def safe_cap(self) -> list[Step]:
        """What the warden writes if the manager is gone; nothing for a service."""
        if not self.is_best_effort or self.cpu is None:
            return []
        return self._quota_steps(self.spec.safe_quota, is_forced=True)

    def note_cap(self) -> None:
        """The cap is in the journal before anybody can set it, so that it is undone as well."""
        if steps := self.safe_cap():
            self._noted.note(CAP, steps)

    def apply(self, knob: Knob, level: Level) -> str:
        """Set a level; "": it is in force, else why not."""
        try:
            wanted = levels.changed(self.allocation, knob, level, len(self.cpus))
            for step in self._steps(knob, wanted):
                self._write(knob, step)
        except (OSError, ValueError) as error:
            return getattr(error, "strerror", None) or str(error)
        self.allocation = wanted
        if knob in self.others:
            self._moved.add(knob)
        return self.lies()

    def cap(self) -> str:
        """The safe cap, by the manager itself; "": it is in force."""
        if not self.is_best_effort or self.cpu is None:
            return ""
        return self.apply("quota", self.spec.safe_quota)

    def put_back(self) -> str:
        """Give a service what it had, while the manager goes on; what could not be, or ""."""
        if self.is_best_effort or self._notes is None or self._notes.is_empty:
            return ""
        stuck = self._notes.restore()
        self.allocation = self.read()
        self._moved.clear()
        return "; ".join(stuck)

    def lies(self) -> str:
        """Where what was set does not read back; "": all of it does."""
        text, allocation = self._read_cpu(), self.allocation
        if self.cpu is not None:
            period = self._limit(CpuQuota).read_back(self.cpu)[1]
            wanted = self._quota_us(self._quota_of(allocation), period)
            now = self._quota_us(text.quota, period)
            if wanted != now:
                return f"quota was set to {_text(wanted)} us and reads {_text(now)} us"
            if allocation.idle != text.idle:
                return f"cpu.idle was set to {allocation.idle:d} and reads {text.idle:d}"
            if not allocation.idle and allocation.weight != text.weight:
                return f"weight was set to {allocation.weight} and reads {text.weight}"
        if (
            self.cpuset is not None
            and allocation.cores
            and allocation.cores != (text.cores or len(self.cpus))
        ):
            return f"{allocation.cores} cores were set, and cpuset.cpus has {text.cores}"
        for knob in self._moved:
            level, group = getattr(allocation, knob), self.others[knob]
            if not limits.is_as_set(knob, group, self.disk, level):
                level_now = limits.read(knob, group, self.disk)
                return f"{knob} was set to {level} and reads {level_now}"
        return ""

    def restore(self) -> list[str]:
        """Put every file back, unless somebody else has changed it; what could not be."""
        stuck = self._notes.restore() if self._notes else []
        if self.spec.pid and self._on is not None and self.cpu is not None:
            knob_groups.leave(self._on, self.cpu, USER)
        for handle in self._locks:
            os.close(handle)
        self._locks.clear()
        return stuck

    @property
    def _noted(self) -> Notes:
        if self._notes is None:
            raise ValueError("it was not taken")
        return self._notes

    def _limit(self, kind: type[Limit]) -> Any:
        """A knob of this group, for its files and their forms; it is never applied."""
        book: Any = self._notes.book if self._notes else None
        return kind(Turned(label=self.name, leader=self.spec.pid, book=book, tree=self.tree))

    def _steps(self, knob: Knob, wanted: Allocation) -> list[Step]:
        if knob in {limits.MEMORY, limits.IO, limits.FROZEN}:
            if knob not in self.others:
                raise ValueError(f"it has no group in which {knob} can be set")
            return limits.steps(knob, self.others[knob], self.disk, getattr(wanted, knob))
        if knob == "cores":
            return [*self._cpuset_steps(wanted), *self._quota_steps(self._quota_of(wanted))]
        if self.cpu is None:
            raise ValueError("it has no group with the controller cpu")
        if knob == "quota":
            return self._quota_steps(self._quota_of(wanted))
        if knob == "idle":
            return self._files(CpuIdle, int(wanted.idle))
        return self._files(CpuWeight, wanted.weight)

    def _cpuset_steps(self, wanted: Allocation) -> list[Step]:
        if self.cpuset is None:
            raise ValueError("it has no group with the controller cpuset")
        if wanted.cores == 0:
            return []  # no CPU at all: by its quota
        count = len(self.cpus) if wanted.cores is None else min(wanted.cores, len(self.cpus))
        own = self.cpus[-count:] if self.is_best_effort else self.cpus[:count]
        return [(f"{self.cpuset.folder}/{CPUSET}", cpu_text(own))]

    def _quota_of(self, wanted: Allocation) -> float | None:
        return OFF_CPUS if wanted.cores == 0 else wanted.quota

    def _quota_steps(self, quota: float | None, *, is_forced: bool = False) -> list[Step]:
        if self.cpu is None:
            return []
        result, period, _ = self._limit(CpuQuota).read_back(self.cpu)
        wanted = self._quota_us(quota, period)
        if result == wanted and not is_forced:
            return []
        if self.cpu.version == 1:  # the period stays, so there is one file to write
            return [(f"{self.cpu.folder}/cpu.cfs_quota_us", str(-1 if wanted is None else wanted))]
        return self._files(CpuQuota, (wanted, period or PERIOD_US, 0))

    @staticmethod
    def _quota_us(quota: float | None, period_us: int) -> int | None:
        return None if quota is None else max(QUOTA_US_MIN, round(quota * period_us))

    def _files(self, kind: type[Limit], value: Any) -> list[Step]:
        assert self.cpu is not None  # noqa: S101  # asked before
        steps: Sequence[Step] = self._limit(kind).files(value, self.cpu)
        return [(f"{self.cpu.folder}/{name}", text) for name, text in steps]

    def _write(self, knob: str, step: Step) -> None:
        path, text = step
        if knob == "idle" and self.cpu is not None:
            self._keep_weight(self.cpu)  # noted before, so undone after
        self._noted.write(path, text)

    def _keep_weight(self, group: knob_groups.Group) -> None:
        """An idle group loses its weight; when it is idle no longer the kernel gives the usual one.

        So that is what the journal says the lab has made of it (kernel/sched/core.c,
        sched_group_set_idle).
        """
        name, usual = ("cpu.shares", "1024") if group.version == 1 else ("cpu.weight", "100")
        path = f"{group.folder}/{name}"
        if path not in self._noted and not self._limit(CpuIdle).read_back(group):
            self._noted.note(path, [(path, usual)])


def _text(value: int | None) -> str:
    return "no limit" if value is None else str(value)
