"""How the kernel orders a service's threads among others (sched(7)).

    other, batch, idle      fair, in the background, only where no one else wants the CPU
    nice:5                  fair, with 1.25 times less weight a step
    fifo:10, rr:10          real-time, with a priority
    fifo:rate, rr:rate      the same, rate-monotonic: who serves more requests a second goes first,
                            among those that are measured at once (L24)
    deadline:2ms/10ms       so much CPU time in every period, before everybody else
    slice:3ms               fair, for so long at a time (EEVDF; Linux 6.12)
    bvt,warp=5ms,weight=4   borrowed virtual time, by sched_ext (L26); `scheduler` has the words
    scx_lavd                a public scheduler of sched_ext, where it is installed

For every thread; what a thread starts inherits it, and all are listed again until none is found
without. A deadline cannot be given to threads that are bound to some CPUs, nor can they start
others then: the kernel refuses.

Where the kernel groups by session (kernel.sched_autogroup_enabled), a thread's nice value and the
idle policy order it among those of its own session and no one else. So a nice value is given to the
session as well; an idle session there is not. Nor do others feel it of a service that is in a
control group of its own: there the group gets the weight of that nice value (`grouped`).

How it is measured is in `ordered`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sojourn.errors import HostFault
from sojourn.host import rights
from sojourn.host.tree import has_kernel
from sojourn.knobs import attr, grouped, ordered, scheduler, settings
from sojourn.knobs.attr import Attr
from sojourn.knobs.knob import Asked, Felt, Knob, KnobKind, Lack, Offered, Turned
from sojourn.knobs.ordered import GROUPED
from sojourn.knobs.policy_level import RATE, label, level_text, meant, rank, refuses
from sojourn.knobs.probe import BURN, Probe
from sojourn.knobs.scheduler import Scheduler
from sojourn.knobs.settings import AUTOGROUP, POLICY, Setting
from sojourn.places import proc

NAME = "policy"
PASSES_MAX = 20  # a server that starts threads faster than they are listed is not finished starting
NAMED_MAX = 3
SYS_NICE = 23  # include/uapi/linux/capability.h
TIME = r"\d+(\.\d+)?(us|ms)"


class Policy(Knob):
    """The policy of all threads of one service, or the scheduler under which they are."""

    _at_ticks = 0  # since when heirs are put back after a crash; 0: they end with the lab

    def __init__(self, on: Turned) -> None:
        self._on = on
        self._scheduler = Scheduler(on)
        self._level = self._asked = ""
        self._inputs: dict[tuple[int, int], Setting] = {}
        self._entries: list[int] = []
        self._effect: Felt | None = None

    @property
    def by(self) -> str:
        """The call that sets it on a thread, or the scheduler's program."""
        return self._scheduler.by if self._scheduler.level else "sched_setattr"

    def read(self) -> str:
        """What the first of its threads has, or the scheduler's level."""
        if self._scheduler.level:
            return self._scheduler.level
        every = (_read_attr(task.tid) for task in self._on.tasks())
        return next((level_text(one) for one in every if one is not None), "")

    def apply(self, level: str) -> None:
        """Give it to every thread, or put the scheduler in force."""
        self._asked = level
        if scheduler.is_one(level):
            self._put_back()
            self._scheduler.apply(level)
            return
        self._scheduler.restore()
        self._give(level)

    def among(self, label: str, offered: Mapping[str, Offered]) -> None:
        """Rate-monotonic: the priority that follows from who else is there."""
        if self._asked.endswith(f":{RATE}") and label in offered:
            level = f"{self._asked.removesuffix(RATE)}{rank(label, offered)}"
            if level != self._level:
                effect = self._effect
                self._give(level)
                self._effect = effect  # another priority of the same policy

    def _give(self, level: str) -> None:
        wanted = meant(level)
        noted = list(self._entries)
        for _ in range(PASSES_MAX):
            if not (results := list(self._wishes(wanted))):
                break
            self._change(level, results)
        else:
            raise self._refused(level, "it starts threads faster than they can be listed")
        if len(self._entries) > len(noted):  # what is left of the old ones is in the new ones
            for entry in noted:
                self._entries.remove(entry)
                self._on.book.undone(entry)
        self._level, self._effect = level, None

    def _wishes(self, wanted: Attr) -> Iterator[Setting]:
        """Threads that do not have it; the session and the group that have another nice value."""
        yield from map(self._from_first, self._threads(wanted))
        yield from map(self._from_first, self._session(wanted))
        if group := grouped.weight(self._on, wanted.nice):
            yield self._from_first(group)

    def _from_first(self, setting: Setting) -> Setting:
        """The same, to be put back to what it was before the knob came."""
        before = self._inputs.get((setting.tid, setting.start_ticks))
        old = before.old if before and before.new == setting.old else setting.old
        return Setting.from_json({**setting.as_json(), "old": old})

    def _session(self, wanted: Attr) -> Iterator[Setting]:
        if self._on.tree.number(GROUPED) != 1:
            return
        leader, tree = self._on.leader, self._on.tree
        asked = Setting(
            kind=AUTOGROUP,
            what=f"session of {self._on.label}",
            pid=leader,
            old="",
            new=str(wanted.nice),
            start_ticks=settings.start_ticks(tree, leader, leader),
        )
        if (now := settings.read(asked, tree)) not in (None, asked.new):
            yield Setting.from_json({**asked.as_json(), "old": now})

    def _unordered(self, wanted: Attr) -> str:
        """Which of its sessions has another nice value: the kernel orders sessions first."""
        tree = self._on.tree
        if tree.number(GROUPED) != 1:
            return ""
        first = {member.session: member.pid for member in proc.session(self._on.leader)}
        for pid in first.values():
            ticks, new = settings.start_ticks(tree, pid, pid), str(wanted.nice)
            asked = Setting(kind=AUTOGROUP, what="", pid=pid, start_ticks=ticks, old="", new=new)
            if (now := settings.read(asked, tree)) not in (None, new):
                return f"the session of process {pid} has the nice value {now}, {new} wanted"
        return ""

    def _threads(self, wanted: Attr) -> Iterator[Setting]:
        every = self._as_they_are()
        return (replace(one, new=wanted.text) for one in every if one.old != wanted.text)

    def _as_they_are(self) -> Iterator[Setting]:
        """Each thread with what it has now."""
        for task in self._on.tasks():
            one = Setting(
                kind=POLICY,
                what=f"{task.name} ({task.tid}) of {self._on.label}",
                pid=task.pid,
                tid=task.tid,
                start_ticks=settings.start_ticks(self._on.tree, task.pid, task.tid),
                old="",
                new="",
            )
            if (now := settings.read(one, self._on.tree)) is not None:
                yield replace(one, old=now)

    def _change(self, level: str, results: list[Setting]) -> None:
        earlier, root = self._inputs, str(self._on.tree.root)
        turned = {**earlier, **{(setting.tid, setting.start_ticks): setting for setting in results}}
        entry = settings.note(self._on.book, [*turned.values()], at_ticks=self._at_ticks, root=root)
        self._entries.append(entry)
        self._inputs = turned  # not where the book is full
        for setting in results:
            if why := settings.change(setting, setting.new, self._on.tree):
                self._inputs |= settings.unchanged(earlier, self._on.tree)
                raise self._refused(level, f"{setting.what}: {why}")

    def _refused(self, level: str, why: str) -> HostFault:
        group = "a v1 group with cpu.rt_runtime_us = 0 takes no real-time thread"
        fix = f"{rights.fix(self._on.tree)}; {group}"
        if level.startswith("deadline"):
            fix = "leave the service all CPUs: a deadline cannot be given to bound threads"
        return HostFault(
            f"{self._on.label} cannot be scheduled by {level}: {why}", at=self._on.at(NAME), fix=fix
        )

    def verify(self) -> Felt:
        """Whether every thread has it as the kernel tells, and a burner that has it felt it.

        Of a scheduler: whether the kernel says that it is in force.
        """
        if self._scheduler.level:
            return self._scheduler.verify()
        if not self._level:
            return Felt(holds=None, why="it was not turned")
        tasks, wanted = self._on.tasks(), meant(self._level)
        if not tasks:
            return Felt(holds=None, why="the service had ended")
        without = [t for t in tasks if _read_attr(t.tid) not in (None, wanted)]
        if without:
            names = ", ".join(f"{task.name} ({task.tid})" for task in without[:NAMED_MAX])
            why = f"{len(without)} of {len(tasks)} threads are without it: {names}"
            return Felt(holds=False, why=why)
        if why := self._unordered(wanted):
            return Felt(holds=False, why=why)
        if self._effect is None:
            self._effect = self._probed(wanted)
        why = f"all {len(tasks)} threads have it; {self._effect.why}"
        return Felt(holds=self._effect.holds, why=why)

    def _probed(self, wanted: Attr) -> Felt:
        try:
            return ordered.effect(wanted, min(os.sched_getaffinity(self._on.leader)), self._on.tree)
        except OSError as error:
            return Felt(holds=None, why=f"no probe could run: {error.strerror}")

    def restore(self) -> None:
        """Give every thread back what it had; those that came since get what the first one had."""
        self._scheduler.restore()
        self._put_back()

    def _put_back(self) -> None:
        usual = next((s for s in self._inputs.values() if s.kind == POLICY), None)
        if usual is not None and self._level:
            for heir in (s for s in self._heirs(usual) if s.start_ticks):
                settings.put_back(heir, self._on.tree)
        left = [s for s in self._inputs.values() if settings.put_back(s, self._on.tree)]
        if not left:
            for entry in self._entries:
                self._on.book.undone(entry)
            self._entries.clear()
            self._inputs.clear()
        self._level = self._asked = ""

    def _heirs(self, usual: Setting) -> Iterator[Setting]:
        """Threads that came with the policy, by inheritance."""
        for task in self._on.tasks():
            ticks = settings.start_ticks(self._on.tree, task.pid, task.tid)
            if (task.tid, ticks) not in self._inputs:
                owner = {"pid": task.pid, "tid": task.tid, "start_ticks": ticks}
                yield Setting.from_json({**usual.as_json(), **owner})


def _read_attr(tid: int) -> Attr | None:
    try:
        return attr.get(tid)
    except OSError:
        return None


def lacks(asked: Asked) -> Lack | None:
    """A kernel that takes slices, or schedulers; rights are told by the kernel when it refuses."""
    if scheduler.is_one(asked.level):
        return scheduler.lacks(asked)
    if asked.level.startswith("slice") and not has_kernel(asked.tree, 6, 12):
        return Lack(missing="slices of its own for a thread", fix="Linux 6.12 or later")
    is_free = asked.level.startswith(("batch", "idle", "slice", "other"))
    if not is_free and not rights.has(asked.tree, SYS_NICE):
        fix = rights.fix(asked.tree)
        return Lack(missing="the right to order threads (CAP_SYS_NICE)", fix=fix)
    if asked.level.startswith("deadline") and asked.tree.is_live:
        return _bound(meant(asked.level))
    return None


def _bound(wanted: Attr) -> Lack | None:
    """Whether the kernel gives a deadline to a thread that is bound, as a service's are."""
    try:
        with Probe(BURN, 1, 0) as probe:
            attr.put(probe.on({min(os.sched_getaffinity(0))}).pid, wanted)
    except OSError as error:
        why = error.strerror or "refused"
        fix = "a CPU set of its own for the service (cpuset.cpus.partition), made by hand"
        return Lack(missing=f"a deadline for threads that are bound to a CPU ({why})", fix=fix)
    return None


KIND = KnobKind(
    name=NAME,
    about="how the kernel orders a service's threads among others",
    level='"other", "batch", "idle", "nice:5", "fifo:1", "rr:1", "fifo:rate" (rate-monotonic), '
    '"deadline:2ms/10ms", "slice:3ms", "bvt,warp=5ms,weight=4", "scx_lavd"',
    pattern=rf"other|batch|idle|nice:-?\d{{1,2}}|(fifo|rr):(\d{{1,2}}|rate)"
    rf"|deadline:{TIME}/{TIME}|slice:{TIME}|{scheduler.PATTERN}",
    needs=(
        "root, but to go into the background",
        "Linux 6.12 for a slice",
        "sched_ext (Linux 6.13) and its program for bvt and scx_*",
    ),
    source="L12, L24, L26, and M23",
    label=label,
    orders=True,
    refuses=refuses,
    lacks=lacks,
    build=Policy,
)
