"""A group that was named and is managed: how its levels are set and put back.

    note in the journal → write → read back → cross out the older note

A control group stays where it is and is only written to. A process that was named by its number is
moved, with its children, into a group of the lab's own, which is removed at the end. Files and
their forms are those of the knobs `cpu_quota`, `cpu_weight` and `cpu_idle`; `cores` is the file
`cpuset.cpus` (`placed`). The rest is in `limits`. The kernel takes no weight of an idle group: it
is set when the group is idle no longer.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from sojourn.controllers.look import OFF_CPUS, Allocation, Knob, Level
from sojourn.errors import HostFault
from sojourn.host.tree import cpu_list, cpu_text
from sojourn.knobs import Turned
from sojourn.knobs import groups as knob_groups
from sojourn.knobs.cpu_idle import FILE as IDLE
from sojourn.knobs.cpu_idle import CpuIdle
from sojourn.knobs.cpu_quota import CpuQuota
from sojourn.knobs.cpu_weight import USUAL, CpuWeight
from sojourn.knobs.limit import Limit
from sojourn.manage import levels, limits, locks, placed
from sojourn.manage import quota as quotas
from sojourn.manage.named import Named
from sojourn.manage.notes import CAP, Notes, Step
from sojourn.manage.placed import CPUSET
from sojourn.places.ledger import Book
from sojourn.run import signals

USER = "manage"
NO_CPU = "it has no group with the controller cpu"


@dataclass(slots=True)
class Managed(Named):
    """One named group, which has one manager from `take` to `restore`."""

    _on: Turned | None = None
    _locks: list[int] = field(default_factory=list)
    _period_us: int = 0  # its own, before the manager
    _before_cap: tuple[float | None] | None = None  # the quota; None: there is no cap

    def can(self) -> set[str]:
        """Which knobs of it can be moved here."""
        can: set[str] = {*self.others} | (self.actuators.keys() - self.lacks().keys())
        if self.spec.pid:
            is_free = knob_groups.find(self.tree, "cpu") is not None
            return can | ({"quota", "weight", "idle"} if is_free else set())
        if self.cpu is not None:
            can |= {"quota", "weight"}
            can |= {"idle"} if self.tree.exists(f"{self.cpu.folder}/cpu.idle") else set()
        if self.cpuset is not None:
            can.add("cores")
        return can

    def take(self, book: Book, was: Allocation | None = None) -> None:
        """Become its only manager; HostFault if another one has it, or no safe cap can be set.

        `was` is what was in force in the group of this path before, which the warden caps.
        """
        caps = self._notes.caps if self._notes else {}
        self._notes = Notes(self.name, book, self.tree, caps=caps)
        self._on = Turned(label=self.name, leader=self.spec.pid, book=book, tree=self.tree)
        self._before_cap, self.own = None, ()
        self._moved.clear()
        if self.spec.pid:
            with signals.deaf():  # else its new group could be left behind
                self._enter(self._on)
        else:
            self._lock(self._folders)
            self._lock(self._above(), is_shared=True)
        if was is not None:
            self._lift(was.quota)
        if self.cpu is not None:
            self._period_us = self._limit(CpuQuota).read_back(self.cpu)[1]
        self.allocation = self.start = self.read()
        self.actuators = self._actuators(book)
        if why := self.cap() or self.uncap():  # now, and not when something is wrong
            raise HostFault(
                f"the safe cap of {self.name} cannot be set: {why}",
                at=f"groups.{self.name}.safe_quota",
                fix="name a group with the controller cpu, and none below it with a larger quota",
            )

    def _enter(self, on: Turned) -> None:
        """Move a process into a group of its own, with all that it starts meanwhile."""
        try:
            self.cpu = knob_groups.hold(on, "cpu", USER)
            self._lock([self.cpu.folder])
            mount = self.cpu.hierarchy.mount
            knob_groups.move_in(
                on,
                self.cpu,
                self.pids,
                lambda homes: self._lock(locks.with_parents(homes, mount), is_shared=True),
            )
        except OSError as error:
            raise self._absent(f"it cannot be moved into a group: {error.strerror}") from None

    def _lock(self, folders: Iterable[str], *, is_shared: bool = False) -> None:
        """Each of them, until it is put back; HostFault if another manager has one."""
        for folder in folders:
            self._locks.append(locks.locked(self.tree, folder, self.name, is_shared=is_shared))

    def _lift(self, quota: float | None) -> None:
        """Undo a cap of the warden, which caps by path whatever group has it now."""
        caps = self.safe_cap()
        if caps and all(self._noted.may_be_cap(*step, self.tree.text(step[0])) for step in caps):
            for path, text in self._quota_steps(quota):
                knob_groups.write(self.tree, path, text)

    def take_again(self) -> str:
        """Manage a group that was made anew, at the levels that were set; why not, or "".

        Where it cannot be, nothing is changed, and it may be tried again.
        """
        before, begun = self.allocation, self.start
        before_cap, notes, why = self._before_cap, self._notes, ""
        try:
            self.find()
            if notes is not None:  # else nothing is ever changed
                self.take(notes.book, was=begun)
                self.note_cap()
                why = self._set_all(before, begun)
                if not why:
                    notes.drop_cap()
        except (HostFault, OSError) as error:
            why = getattr(error, "what", None) or str(error)
        if why:
            if self._notes is not notes:  # of the old ones only the cap is left, and it stays
                self.restore()
            self.allocation, self.start, self._notes = before, begun, notes
        elif before_cap == (begun.quota,):
            before_cap = (self.start.quota,)
        self._before_cap = before_cap
        return why

    def _set_all(self, wanted: Allocation, begun: Allocation) -> str:
        """The levels that the manager had changed; whoever made the group has set the others."""
        knobs: tuple[Knob, ...] = get_args(Knob)
        for knob in knobs:
            level = getattr(wanted, knob)
            is_set = level in {getattr(begun, knob), getattr(self.allocation, knob)}
            if not is_set and (why := self.apply(knob, level)):
                return f"{knob} {level}: {why}"
        return ""

    def lose(self) -> None:
        """It vanished: what was set went with it, and another manager may have the next one."""
        if self.spec.pid or self._notes is None:
            self.restore()
            return
        self._restore_actuators()
        self._notes.forget()
        self._unlock()

    def abandon(self) -> None:
        """The manager ends while it is lost: the warden, which has ended, caps it no more."""
        with contextlib.suppress(HostFault, OSError):  # another manager has it, or it is gone
            self._lock(self._folders)
            self._lift(self.start.quota)
        self._unlock()
        self._noted.drop_cap()

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
        """Set a level, or the least that the kernel takes; "": it is in force, else why not."""
        try:
            wanted = levels.changed(self.allocation, knob, level, len(self.cpus))
            if wanted.quota is not None and wanted.quota < quotas.LEAST:
                wanted = wanted.model_copy(update={"quota": quotas.LEAST})
            if knob in self.actuators:
                self.actuators[knob].apply(getattr(wanted, knob))
            else:
                for step in self._steps(knob, wanted):
                    self._write(step)
        except (OSError, ValueError) as error:
            return getattr(error, "strerror", None) or str(error)
        self.allocation = wanted
        if knob in self.others:
            self._moved.add(knob)
        return self.lies()

    def cap(self) -> str:
        """The safe cap, by the manager itself; "": it is in force, or this is a service."""
        if not self.is_best_effort:
            return ""
        if self._before_cap is None:
            self._before_cap = (self.allocation.quota,)
        return self.apply("quota", self.spec.safe_quota)

    def uncap(self) -> str:
        """The quota that was in force before the cap; "": it is again, or there was no cap."""
        if self._before_cap is None:
            return ""
        why = self.apply("quota", self._before_cap[0])
        if not why:
            self._before_cap = None
        return why

    def put_back(self) -> str:
        """Give a service what it had, while the manager goes on; what could not be, or ""."""
        if self.is_best_effort or self._notes is None or self._notes.is_empty:
            return ""
        stuck = self._notes.restore()
        self.allocation, self.own = self.read(), ()
        self._moved.clear()
        return "; ".join(stuck)

    def lies(self) -> str:
        """Where what was set does not read back; "": all of it does."""
        if self.cpu is not None and (cpu := self._lies_of(self.cpu)):
            return cpu
        own = self.cpuset and placed.lies(self.cpuset, self.allocation.cores, self.own, self.cpus)
        return own or self._lies_beyond_cpu()

    def _lies_of(self, cpu: knob_groups.Group) -> str:
        allocation = self.allocation
        if self.spec.pid and cpu.elsewhere([self.spec.pid]):
            return f"process {self.spec.pid} was moved out of its group"
        now, period, _ = self._limit(CpuQuota).read_back(cpu)
        wanted = quotas.quota_us(self.quota_in_force, period)
        if wanted != now:
            return f"quota was set to {quotas.text(wanted)} us and reads {quotas.text(now)} us"
        if allocation.idle != (idle := bool(self._limit(CpuIdle).read_back(cpu))):
            return f"cpu.idle was set to {allocation.idle:d} and reads {idle:d}"
        weight = allocation.weight if idle else max(1, self._limit(CpuWeight).read_back(cpu))
        wrong = f"weight was set to {allocation.weight} and reads {weight}"
        return wrong if allocation.weight != weight else ""

    def restore(self) -> list[str]:
        """Put every file back, unless somebody else has changed it; what could not be."""
        stuck = self._restore_actuators()
        stuck += self._notes.restore() if self._notes else []
        if self.spec.pid and self._on is not None and self.cpu is not None:
            knob_groups.leave(self._on, self.cpu, USER)
        self._unlock()
        return stuck

    def _unlock(self) -> None:
        for handle in self._locks:
            os.close(handle)
        self._locks.clear()

    @property
    def _noted(self) -> Notes:
        if self._notes is None:
            raise ValueError("it was not taken")
        return self._notes

    def _steps(self, knob: Knob, wanted: Allocation) -> list[Step]:
        if knob in {limits.MEMORY, limits.IO, limits.FROZEN}:
            if knob not in self.others:
                raise ValueError(f"it has no group in which {knob} can be set")
            return limits.steps(knob, self.others[knob], self.disk, getattr(wanted, knob))
        if knob == "cores":
            return [*self._cpuset_steps(wanted), *self._quota_steps(_quota_of(wanted))]
        if self.cpu is None:
            raise ValueError(NO_CPU)
        if knob == "quota":
            return self._quota_steps(_quota_of(wanted))
        has_weight = not wanted.idle and (knob == "weight" or wanted.weight != USUAL)
        return [
            *(self._files(CpuIdle, int(wanted.idle)) if knob == "idle" else []),
            *(self._files(CpuWeight, wanted.weight) if has_weight else []),
        ]

    def _cpuset_steps(self, wanted: Allocation) -> list[Step]:
        if self.cpuset is None:
            raise ValueError("it has no group with the controller cpuset")
        if wanted.cores == 0 and self.cpu is None:
            raise ValueError(NO_CPU)
        if wanted.cores == 0:
            return []  # no CPU at all: by its quota
        first = None if self.is_best_effort else self.first
        own = placed.own(self.cpus, wanted.cores, first)
        return [(f"{self.cpuset.folder}/{CPUSET}", cpu_text(own))]

    @property
    def quota_in_force(self) -> float | None:
        """CPUs that it may use at most, by what was set; None: no limit."""
        return _quota_of(self.allocation)

    def _quota_steps(self, quota: float | None, *, is_forced: bool = False) -> list[Step]:
        if self.cpu is None:
            return []
        limit = self._limit(CpuQuota)
        return quotas.steps(limit, self.cpu, quota, self._period_us, is_forced=is_forced)

    def _files(self, kind: type[Limit], value: Any) -> list[Step]:
        assert self.cpu is not None  # noqa: S101  # asked before
        steps: Sequence[Step] = self._limit(kind).files(value, self.cpu)
        return [(f"{self.cpu.folder}/{name}", text) for name, text in steps]

    def _write(self, step: Step) -> None:
        path, text = step
        if path.endswith(f"/{IDLE}") and self.cpu is not None:
            self._keep_weight(self.cpu)  # noted before, so undone after
        self._noted.write(path, text)
        if path.endswith(f"/{CPUSET}"):
            self.own = cpu_list(text)

    def _keep_weight(self, group: knob_groups.Group) -> None:
        """An idle group loses its weight; when it is idle no longer the kernel gives the usual one.

        So that is what the journal says the lab has made of it (kernel/sched/core.c,
        sched_group_set_idle).
        """
        name, usual = ("cpu.shares", "1024") if group.version == 1 else ("cpu.weight", "100")
        path = f"{group.folder}/{name}"
        if not self._limit(CpuIdle).read_back(group):
            self._noted.note(path, [(path, usual)])


def _quota_of(allocation: Allocation) -> float | None:
    return OFF_CPUS if allocation.cores == 0 else allocation.quota
