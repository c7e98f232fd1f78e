"""`--shield move`: tasks, kernel threads and interrupts leave the server's CPUs, and come back.

On request only, for it touches what the lab did not start. What is to be changed is found first and
written into the journal before anything is changed; so it is put back at the end of the service's
life, after ^C, and by `sojourn restore` after `kill -9`.

    survey → journal → change → … the service's life … → put back, with what was started meanwhile

What somebody starts between survey and change still has the old CPUs, so it is surveyed again until
nothing is found that can be moved.

What stays: kernel threads that belong to one CPU, interrupts that the kernel manages itself, the
lab's own processes (they are placed by itself), and what a task that was started meanwhile by
no one who was moved does: it may run anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sojourn.host.tree import Tree, cpu_text
from sojourn.knobs import settings
from sojourn.knobs.settings import AFFINITY, FILE, POLICY, Setting, stat_fields
from sojourn.places import proc
from sojourn.run.journal import Journal

IRQ, WORK = "/proc/irq", "/sys/devices/virtual/workqueue"
PARENT, FLAGS, START = 1, 6, 19  # fields of /proc/PID/stat after the name, from 0 (proc(5))
KERNEL_THREAD, NO_SETAFFINITY = 0x0020_0000, 0x0400_0000  # include/linux/sched.h, PF_*
NAMED_MAX = 4
SURVEYS_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuSets:
    """Where everything is to leave from and where it may go.

    Attributes:
        server: CPUs that are to be left.
        client: CPUs that are spared where there are others.
        usable: all CPUs.
    """

    server: tuple[int, ...]
    client: tuple[int, ...]
    usable: tuple[int, ...]

    def instead(self, cpus: Collection[int]) -> tuple[int, ...]:
        """Where something may run that could run on `cpus`; () if there is no other CPU."""
        for left in (
            {*cpus} - {*self.server} - {*self.client},
            {*cpus} - {*self.server},
            {*self.usable} - {*self.server} - {*self.client},
            {*self.usable} - {*self.server},
        ):
            if left:
                return tuple(sorted(left))
        return ()


@dataclass(slots=True, kw_only=True)
class Moved:
    """What was moved; `put_back` ends it.

    Attributes:
        refused: what could not be moved, and why.
    """

    tree: Tree
    journal: Journal
    at_ticks: int
    entries: list[int] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    refused: list[tuple[Setting, str]] = field(default_factory=list)

    @property
    def facts(self) -> dict[str, Any]:
        """As JSON: how many things were moved, and which could not be."""
        stuck = {setting for setting, _ in self.refused}
        moved = [setting for setting in self.settings if setting not in stuck]
        return {
            "tasks": sum(setting.kind == AFFINITY for setting in moved),
            "interrupts": sum(setting.path.startswith(IRQ) for setting in moved),
            "kernel_work": sum(setting.path.startswith(WORK) for setting in moved),
            "refused": [f"{setting.what}: {why}" for setting, why in self.refused],
        }

    def put_back(self) -> None:
        """Put back everything, and what was started meanwhile; cross it out if nothing is left."""
        left = restore(self.settings, self.at_ticks, self.tree)
        if not left:
            for entry in self.entries:
                self.journal.undone(entry)

    def move(self, results: Sequence[Setting]) -> None:
        """Note settings in the journal, then change them."""
        root = str(self.tree.root)
        entry = settings.note(self.journal, results, at_ticks=self.at_ticks, root=root)
        self.entries.append(entry)
        self.settings += results
        tried = [(setting, settings.change(setting, setting.new, self.tree)) for setting in results]
        self.refused += [(setting, why) for setting, why in tried if why]


def begin(room: CpuSets, journal: Journal, tree: Tree) -> Moved:
    """Move everything that can be moved off the server's CPUs.

    Args:
        room: which CPUs.
        journal: where it is noted before it is done.
        tree: the machine, or a fake of it with threads that a test started.
    """
    moved = Moved(tree=tree, journal=journal, at_ticks=proc.now_ticks())
    for _ in range(SURVEYS_MAX):
        tried = set(moved.settings)
        selected = [setting for setting in survey(room, tree) if setting not in tried]
        if not selected:
            break
        moved.move(selected)
    return moved


def restore(moved: Sequence[Setting], at_ticks: int, tree: Tree) -> tuple[tuple[Setting, str], ...]:
    """Put settings back, the last first, and give what moved tasks have started what those had.

    Args:
        moved: that were changed.
        at_ticks: when, clock ticks after boot; 0: nothing that was started since outlives them.
        tree: the machine, or a fake of it.

    Returns:
        What could not be put back, and why.
    """
    tried = [(setting, settings.put_back(setting, tree)) for setting in reversed(moved)]
    heirs = _heirs(moved, at_ticks, tree) if at_ticks else ()
    late = [(setting, settings.put_back(setting, tree)) for setting in heirs]
    return tuple((setting, why) for setting, why in (*tried, *late) if why)


def survey(room: CpuSets, tree: Tree) -> Iterator[Setting]:
    """Everything that may run on the server's CPUs and can be put elsewhere."""
    yield from _work(room, tree)
    yield from _interrupts(room, tree)
    yield from _tasks(room, tree)


def _work(room: CpuSets, tree: Tree) -> Iterator[Setting]:
    """Kernel work that belongs to no CPU: the mask of all, and of queues that have their own."""
    paths = [f"{WORK}/cpumask", *(f"{WORK}/{name}/cpumask" for name in tree.names(WORK))]
    for path in paths:
        yield from _file("kernel work", path, room, tree)


def _interrupts(room: CpuSets, tree: Tree) -> Iterator[Setting]:
    yield from _file("interrupts to come", f"{IRQ}/default_smp_affinity", room, tree)
    for name in tree.names(IRQ):
        if name.isdigit():
            yield from _file(f"interrupt {name}", f"{IRQ}/{name}/smp_affinity_list", room, tree)


def _file(what: str, path: str, room: CpuSets, tree: Tree) -> Iterator[Setting]:
    text = tree.text(path)
    cpus = settings.file_cpus(path, text) if text else ()
    instead = room.instead(cpus)
    if instead and set(cpus) & set(room.server):
        yield Setting(kind=FILE, what=what, path=path, old=cpu_text(cpus), new=cpu_text(instead))


def _tasks(room: CpuSets, tree: Tree) -> Iterator[Setting]:
    own = _descendants(os.getpid(), tree)
    for pid, tid, fields in _threads(tree):
        flags, cpus = int(fields[FLAGS]), _affinity(tid)
        if pid in own or flags & NO_SETAFFINITY or not set(cpus) & set(room.server):
            continue
        if flags & KERNEL_THREAD and not set(cpus) - set(room.server):
            continue  # it was made for this CPU
        if instead := room.instead(cpus):
            yield Setting(
                kind=AFFINITY,
                what=f"{tree.text(f'/proc/{pid}/task/{tid}/comm') or 'task'} ({tid})",
                pid=pid,
                tid=tid,
                start_ticks=int(fields[START]),
                old=cpu_text(cpus),
                new=cpu_text(instead),
            )


def _threads(tree: Tree) -> Iterator[tuple[int, int, list[str]]]:
    for pid in tree.names("/proc"):
        for tid in tree.names(f"/proc/{pid}/task") if pid.isdigit() else ():
            if fields := stat_fields(tree, int(pid), int(tid)):
                yield int(pid), int(tid), fields


def _affinity(tid: int) -> tuple[int, ...]:
    try:
        return tuple(sorted(os.sched_getaffinity(tid)))
    except OSError:
        return ()


def _parents(tree: Tree) -> dict[int, int]:
    pids = (int(name) for name in tree.names("/proc") if name.isdigit())
    return {pid: int(f[PARENT]) for pid in pids if (f := stat_fields(tree, pid, pid))}


def _descendants(ancestor: int, tree: Tree) -> set[int]:
    parents = _parents(tree)
    numbers, size = {ancestor}, 0
    while len(numbers) > size:
        size = len(numbers)
        numbers |= {pid for pid, parent in parents.items() if parent in numbers}
    return numbers


def _heirs(moved: Sequence[Setting], at_ticks: int, tree: Tree) -> Iterator[Setting]:
    """Threads that were started since by those that were changed, and have what these have.

    What a task starts inherits its CPUs and policy, so a shell that was moved for a minute would
    leave its programs there for good. If its parent has ended meanwhile, init is its parent. A
    worker that the kernel made for one CPU has that CPU by birth, not from kthreadd that was moved.
    """
    kinds = (AFFINITY, POLICY)
    by_kind = {kind: {one.pid: one for one in moved if one.kind == kind} for kind in kinds}
    known = {setting.tid for setting in moved}
    parents = _parents(tree)
    for pid, tid, fields in _threads(tree):
        if tid in known or int(fields[START]) < at_ticks:
            continue
        for kind, by_pid in by_kind.items():
            setting = _of_ancestor(pid, by_pid, parents, tree)
            is_bound = kind == AFFINITY and int(fields[FLAGS]) & NO_SETAFFINITY
            if setting is None or is_bound:
                continue
            what, since = f"task {tid}, started by {setting.what}", int(fields[START])
            heir = replace(setting, what=what, pid=pid, tid=tid, start_ticks=since)
            if settings.read(heir, tree) == setting.new:
                yield heir


def _of_ancestor(
    pid: int, by_pid: Mapping[int, Setting], parents: Mapping[int, int], tree: Tree
) -> Setting | None:
    """The setting of a process or its nearest ancestor that has one; of another process: None."""
    origin = pid
    while origin not in by_pid and origin > 1 and origin != os.getpid():
        origin = parents.get(origin, 0)
    setting = by_pid.get(origin)
    fields = stat_fields(tree, origin, origin) if setting else []
    is_same = bool(fields) and setting is not None and int(fields[START]) <= setting.start_ticks
    return setting if is_same else None
