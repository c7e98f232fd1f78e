"""Counters of a service, its CPUs and of suspects, read at both ends of a window.

Threads and processes begin and end while load runs: a server starts one for each connection, a
suspect one program after another. So differences are taken one by one, and of who is there.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sojourn.actors.actor import Running
from sojourn.host.tree import Tree
from sojourn.host.usage import Members, files
from sojourn.places import proc
from sojourn.places.foreign import Foreign
from sojourn.text import schedstat
from sojourn.text.schedstat import Schedstat

#: Fields of /proc/stat after the name, proc(5).
USER, NICE, SYSTEM, IRQ, SOFTIRQ = 0, 1, 2, 5, 6
SEARCH_S = 2.0  # between two searches for processes that the lab did not start

Thread = tuple[int, int]  # numbers of its process and of itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What one process has used since it started.

    Attributes:
        pid, start_ticks: its number and when it started, which name it for good.
        parent: number of the process that gets what it has used when it ends.
        cpu_ns: CPU time of its own; ended_ns: of its children that have ended.
        disk_bytes: from and to disks, by those children too.
    """

    pid: int
    start_ticks: int
    parent: int
    cpu_ns: int
    ended_ns: int
    disk_bytes: int

    @property
    def who(self) -> tuple[int, int]:
        """What names it for good."""
        return self.pid, self.start_ticks


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Counters of a service and of its CPUs since they began.

    Attributes:
        threads: of the service, by number.
        disk_bytes: from and to disks, by process.
        busy_ns, softirq_ns: of its CPUs, by everybody; the second is a part of the first.
    """

    threads: Mapping[Thread, Schedstat]
    disk_bytes: Mapping[int, int]
    busy_ns: int
    softirq_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What was added to counters of the service and of its CPUs between two readings.

    Attributes:
        run_ns: CPU time of its threads; wait_ns: in which they were ready and had no CPU.
        disk_bytes: from and to disks.
        busy_ns, softirq_ns: of its CPUs, by everybody; the second is a part of the first.
    """

    run_ns: int
    wait_ns: int
    disk_bytes: int
    busy_ns: int
    softirq_ns: int


class Threads:
    """Finds the threads of a service at the ends of windows: all of /proc is read but rarely."""

    def __init__(self, live: Running, tree: Tree) -> None:
        """Nothing is read yet.

        Args:
            live: the service; its processes can be seen.
            tree: where counters of the kernel are read.
        """
        process = live.process
        is_ours = process is not None and not isinstance(process, Foreign)
        self._live, self._read = live, files.of(tree)
        self._members = Members(tree, process.pid) if process is not None and is_ours else None
        self._pids: tuple[int, ...] = ()
        self._next_s = 0.0

    def __call__(self) -> list[Thread]:
        """Those that live now, by process and thread."""
        now_s = time.monotonic()
        if self._members is not None:
            every = self._members.look(now_s)
            return [(pid, tid) for pid, member in every.items() for tid in member.tids]
        if now_s >= self._next_s:
            self._pids = tuple(member.pid for member in self._live.members())
            self._next_s = now_s + SEARCH_S
        names = ((pid, self._read.names(f"/proc/{pid}/task")) for pid in self._pids)
        return [(pid, int(tid)) for pid, tids in names for tid in tids]


class Counters:
    """Reads what is known of a service and of suspects at one moment; cheap enough for a window."""

    def __init__(
        self, tree: Tree, threads: Callable[[], Iterable[Thread]], cpus: Sequence[int]
    ) -> None:
        """Nothing is read yet.

        Args:
            tree: where counters of the kernel are read.
            threads: finds the threads of the service.
            cpus: that it runs on.
        """
        self._read = files.of(tree)
        self._names = {b"cpu%d" % cpu for cpu in cpus}
        self._threads = threads

    def look(self) -> None:
        """Find the service's threads for the first time, which takes longest, before load runs."""
        self._threads()

    def of_service(self) -> Reading:
        """Read those of the service's threads, for which it looks anew, and of its CPUs."""
        each = list(self._threads())
        read = {one: schedstat.parse(self._read.read(schedstat.path(*one))) for one in each}
        busy = soft = 0
        for line in self._read.read("/proc/stat").partition(b"\nintr")[0].splitlines():
            name, _, rest = line.partition(b" ")
            if name in self._names:
                ticks = list(map(int, rest.split()[:8]))
                soft += ticks[SOFTIRQ]
                busy += sum(ticks[n] for n in (USER, NICE, SYSTEM, IRQ, SOFTIRQ))
        return Reading(
            threads={one: counted for one, counted in read.items() if counted},
            disk_bytes={pid: self._disk_bytes(pid) for pid in {pid for pid, _ in each}},
            busy_ns=busy * proc.TICK_NS,
            softirq_ns=soft * proc.TICK_NS,
        )

    def of(self, pids: Iterable[int]) -> tuple[Use, ...]:
        """Read the counters of those of somebody's processes that live."""
        results = []
        for pid in pids:
            with contextlib.suppress(IndexError, ValueError):
                stat = proc.stat(pid)
                if stat is None or stat.state == "Z":
                    continue
                results.append(
                    Use(
                        pid=pid,
                        start_ticks=stat.start_ticks,
                        parent=stat.parent,
                        cpu_ns=stat.cpu_ns,
                        ended_ns=stat.ended_ns,
                        disk_bytes=self._disk_bytes(pid),
                    )
                )
        return tuple(results)

    def _disk_bytes(self, pid: int) -> int:
        io = self._read.read(f"/proc/{pid}/io")
        both = (files.after(io, b"\nread_bytes:"), files.after(io, b"\nwrite_bytes:"))
        return sum(value or 0 for value in both)


def served(before: Reading, after: Reading) -> Served:
    """What was added between two readings, thread by thread.

    A thread that has started since counts from its start; one that has ended does not count.
    """
    none = Schedstat(0, 0, 0)
    pids = {pid for pid, _ in before.threads}
    both = [
        (before.threads.get(one, none), counted)
        for one, counted in after.threads.items()
        if one[0] in pids  # of a process that was not seen before no one knows when it started
    ]
    disk = before.disk_bytes
    return Served(
        run_ns=sum(max(0, b.ran_ns - a.ran_ns) for a, b in both),
        wait_ns=sum(max(0, b.waited_ns - a.waited_ns) for a, b in both),
        disk_bytes=sum(max(0, n - disk[pid]) for pid, n in after.disk_bytes.items() if pid in disk),
        busy_ns=max(0, after.busy_ns - before.busy_ns),
        softirq_ns=max(0, after.softirq_ns - before.softirq_ns),
    )


def used(before: Sequence[Use], after: Sequence[Use], since_ticks: int) -> dict[str, int]:
    """What somebody's processes have used between two readings, and how many there were.

    One that ended hands all that it has used to its parent, with what it had used before. Where
    the parent is somebody else's, what it used since the first reading is not known.

    Args:
        before: at the first reading.
        after: at the second one.
        since_ticks: when the first was; who has started since counts from its start.

    Returns:
        `cpu_ns`, `disk_bytes` and `members`, who lived at either reading.
    """
    old, new = {one.who: one for one in before}, {one.who: one for one in after}
    handed_ns, handed_bytes = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for one in before:
        if one.who not in new and (heir := _heir(one, before, new)):
            handed_ns[heir] += one.cpu_ns + one.ended_ns
            handed_bytes[heir] += one.disk_bytes
    cpu_ns = disk_bytes = 0
    for who, now in new.items():
        then = old.get(who)
        if then is None and now.start_ticks < since_ticks:
            continue  # it was there and was not seen
        own, ended, disk = (then.cpu_ns, then.ended_ns, then.disk_bytes) if then else (0, 0, 0)
        cpu_ns += max(0, now.cpu_ns - own) + max(0, now.ended_ns - ended - handed_ns[who])
        disk_bytes += max(0, now.disk_bytes - disk - handed_bytes[who])
    return {"cpu_ns": cpu_ns, "disk_bytes": disk_bytes, "members": len({*old, *new})}


def _heir(
    one: Use, before: Sequence[Use], new: Mapping[tuple[int, int], Use]
) -> tuple[int, int] | None:
    """Who among those that live has what an ended process used; None: somebody else."""
    by_pid = {each.pid: each for each in before}
    for _ in before:
        above = by_pid.get(one.parent)
        if above is None or above.who in new:
            return above.who if above else None
        one = above
    return None
