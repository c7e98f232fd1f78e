"""Which CPUs a service may run on.

By the affinity of each of its threads: what a thread starts inherits it, and all of them are listed
again until none is found outside. A thread that was bound to fewer CPUs than the service, as pinned
workers are, stays bound to those that the level leaves it; if that is none, it may use the level's,
and has its own back when they are given back.

A thread could set its own affinity and leave, which `felt` sees. A control group would not let it,
but needs the controller `cpuset` in a hierarchy that the lab may write to and that no manager of
containers owns; it is not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sojourn.errors import HostFault
from sojourn.host.tree import cpu_list, cpu_text
from sojourn.knobs import settings
from sojourn.knobs.knob import Felt, Knob, KnobKind, Turned, backwards
from sojourn.knobs.settings import AFFINITY, Setting
from sojourn.places.task import Task
from sojourn.text import schedstat
from sojourn.text.some import some

PASSES_MAX = 20  # a server that starts threads faster than they are listed is not finished starting
LAST_CPU = 36  # field of /proc/PID/stat after the name, from 0 (proc(5): 39)
NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class _Thread:
    """One thread: who it is, when it started, and the CPUs it may use now, as a CPU list."""

    task: Task
    start_ticks: int
    allowed: str


class Cpuset(Knob):
    """The CPUs of one running service, by affinity."""

    by = "sched affinity"

    def __init__(self, on: Turned) -> None:
        self._on = on
        self._level = ""
        self._home: tuple[int, ...] = ()  # what the service had before the knob came
        self._entries: list[int] = []
        self._inputs: dict[tuple[int, int], Setting] = {}  # by thread and start: what was set
        self._runs: Mapping[int, int] = {}

    def read(self) -> str:
        """All CPUs that any of its threads may use, as a kernel CPU list."""
        allowed = (cpu_list(thread.allowed) for thread in self._threads())
        return cpu_text(tuple({cpu for cpus in allowed for cpu in cpus}))

    def apply(self, level: str) -> None:
        """Leave the service these CPUs, such as "0-1"."""
        wanted = cpu_text(cpu_list(level))
        self._home = self._home or cpu_list(self.read())
        noted = list(self._entries)
        for _ in range(PASSES_MAX):
            results = [s for thread in self._threads() if (s := self._wish(thread, wanted))]
            if not results:
                break
            self._change(results)
        else:
            raise self._refused(wanted, "it starts threads faster than they can be listed")
        if len(self._entries) > len(noted):  # what is left of the old ones is in the new ones
            for entry in noted:
                self._entries.remove(entry)
                self._on.book.undone(entry)
        self._level, self._runs = wanted, self._counted()

    def _wish(self, thread: _Thread, wanted: str) -> Setting | None:
        """What to make of one thread; None: it is so already."""
        before = self._inputs.get((thread.task.tid, thread.start_ticks))
        # What it had before the knob came, unless somebody has set something else since.
        own = before.old if before and before.new == thread.allowed else thread.allowed
        is_pinned = {*cpu_list(own)} < {*self._home}
        within = {*cpu_list(own)} & {*cpu_list(wanted)}
        new = cpu_text(tuple(within)) if is_pinned and within else wanted
        if new == thread.allowed:
            return None
        return Setting(
            kind=AFFINITY,
            what=f"{thread.task.name} ({thread.task.tid}) of {self._on.label}",
            pid=thread.task.pid,
            tid=thread.task.tid,
            start_ticks=thread.start_ticks,
            old=own,
            new=new,
        )

    def _change(self, results: list[Setting]) -> None:
        """Note what all turned threads had and will have, then change those that are found."""
        earlier = self._inputs
        turned = {**earlier, **{(setting.tid, setting.start_ticks): setting for setting in results}}
        root = str(self._on.tree.root)
        self._entries.append(settings.note(self._on.book, [*turned.values()], root=root))
        self._inputs = turned  # not where the book is full
        for setting in results:
            if why := settings.change(setting, setting.new, self._on.tree):
                self._inputs |= settings.unchanged(earlier, self._on.tree)
                raise self._refused(setting.new, f"{setting.what}: {why}")

    def _refused(self, level: str, why: str) -> HostFault:
        return HostFault(
            f"{self._on.label} cannot be left CPUs {level} only: {why}",
            at=f"services.{self._on.label}.knobs.cpuset",
            fix="see which CPUs this program may use: grep Cpus_allowed_list /proc/self/status",
        )

    def verify(self) -> Felt:
        """Whether all threads may use these CPUs only, and those that ran since ran there last."""
        if not self._level:
            return Felt(holds=None, why="it was not turned")
        threads, cpus = tuple(self._threads()), {*cpu_list(self._level)}
        if not threads:
            return Felt(holds=None, why="the service had ended")
        out = [t.task for t in threads if not {*cpu_list(t.allowed)} <= cpus]
        if out:
            return Felt(holds=False, why=f"{_names(out)} may use other CPUs than {self._level}")
        counted = self._counted()
        ran = [t.task for t in threads if counted.get(t.task.tid) != self._runs.get(t.task.tid)]
        if not ran:
            return Felt(holds=None, why=f"no thread has run since it was left CPUs {self._level}")
        strays = [task for task in ran if self._last_cpu(task) not in {*cpus, None}]
        if strays:
            return Felt(holds=False, why=f"{_names(strays)} ran on other CPUs than {self._level}")
        text = f"all {len(threads)} threads may use CPUs {self._level} only"
        return Felt(holds=True, why=f"{text}, and the {len(ran)} that ran since ran there last")

    def restore(self) -> None:
        """Give every thread back what it had, unless somebody has set something else since."""
        left = [s for s in self._inputs.values() if settings.put_back(s, self._on.tree)]
        if not left:
            for entry in self._entries:
                self._on.book.undone(entry)
            self._entries.clear()
            self._inputs.clear()
        self._level, self._home = "", ()

    def _threads(self) -> Iterator[_Thread]:
        for task in self._on.tasks():
            ticks = settings.start_ticks(self._on.tree, task.pid, task.tid)
            probe = Setting(
                kind=AFFINITY,
                what="",
                old="",
                new="",
                pid=task.pid,
                tid=task.tid,
                start_ticks=ticks,
            )
            allowed = settings.read(probe, self._on.tree)
            if ticks and allowed is not None:
                yield _Thread(task, ticks, allowed)

    def _counted(self) -> dict[int, int]:
        """How often each thread has been given a CPU so far."""
        tree = self._on.tree
        results = (
            (task.tid, schedstat.parse(tree.text(schedstat.path(task.pid, task.tid))))
            for task in self._on.tasks()
        )
        return {tid: one.turns for tid, one in results if one}

    def _last_cpu(self, task: Task) -> int | None:
        fields = settings.stat_fields(self._on.tree, task.pid, task.tid)
        return int(fields[LAST_CPU]) if fields else None


def cpus_of(level: str) -> tuple[int, ...]:
    """CPUs of a level, ascending; ValueError: a range of them ends before it begins.

    >>> cpus_of("0-1,4")
    (0, 1, 4)
    """
    if why := backwards(level):
        raise ValueError(why)
    return cpu_list(level)


def _names(tasks: list[Task]) -> str:
    return some([f"{task.name} ({task.tid})" for task in tasks], NAMED_MAX)


KIND = KnobKind(
    name="cpuset",
    about="the CPUs that a service may run on; its workers are pinned to them in turn",
    level='CPUs, such as "0-1" or "0,2"',
    pattern=r"\d+(-\d+)?(,\d+(-\d+)?)*",
    source="METHOD M23",
    cpus=cpus_of,
    label=lambda level: f"CPUs {level}" if {*level} & {*",-"} else f"CPU {level}",
    build=Cpuset,
)
