"""Those who are suspected: found on the stage and on the machine, stopped and let go, counted.

Neighbours of the scene are stopped by their process groups, all at once. What the study names of
the machine's own is stopped process by process, and is in the journal before (`places.halt`).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sojourn.actors.actor import Actor, Role, Stage
from sojourn.actors.neighbours import Neighbour
from sojourn.errors import RunFault
from sojourn.host.tree import Tree
from sojourn.host.usage import Members, files
from sojourn.places import halt, proc
from sojourn.places.halt import Held
from sojourn.places.ledger import Book
from sojourn.places.task import Task
from sojourn.questions.blame import asks
from sojourn.spec.words import parted
from sojourn.text import schedstat

TREE = Tree()
NAMED = "name:"
OWN = "name:sojourn-"  # programs of the lab, such as the client, which starts when load does
#: Fields of /proc/stat after the name, proc(5).
USER, NICE, SYSTEM, IRQ, SOFTIRQ = 0, 1, 2, 5, 6


class Suspect(Protocol):
    """Somebody who can be stopped for a while."""

    name: str

    def look(self) -> None:
        """Find the processes that are its now, before the first window."""

    @property
    def pids(self) -> tuple[int, ...]:
        """Those that were found last."""

    def stop(self) -> None:
        """Stop all of them, until `go`."""

    def go(self) -> None:
        """Let all of them go on."""

    def release(self) -> None:
        """Let them go on for good."""


class Beside:
    """A neighbour of the scene."""

    def __init__(self, actor: Actor, tree: Tree = TREE) -> None:
        """`actor`: on the stage; one that has no processes is never stopped."""
        self._actor = actor if isinstance(actor, Neighbour) else None
        self.name = self._actor.text if self._actor else actor.name
        self.pids: tuple[int, ...] = ()
        leaders = self._actor.pids if self._actor else ()
        self._members = [Members(tree, leader) for leader in leaders]

    def look(self) -> None:
        """All processes of the sessions that its tasks lead; all of /proc is read but rarely."""
        now_s = time.monotonic()
        self.pids = tuple(pid for members in self._members for pid in members.look(now_s))

    def stop(self) -> None:
        """All at once, by their groups."""
        if self._actor:
            self._actor.stop()
            self.look()

    def go(self) -> None:
        """Let all of them go on, likewise."""
        if self._actor:
            self._actor.go()
            self.look()

    def release(self) -> None:
        """The scene ends them; until then they run."""
        self.go()


class Watched:
    """Somebody of the machine's own, whom no one stops."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pids: tuple[int, ...] = ()

    def look(self) -> None:
        """Those whom the name means now."""
        self.pids = tuple(member.pid for member in halt.members(self.name))

    def stop(self) -> None:
        """Nothing is done to it."""

    def go(self) -> None:
        """Nothing is done to it."""

    def release(self) -> None:
        """Nothing was done to it."""


def suspects_at(stage: Stage, book: Book | None) -> tuple[Suspect, ...]:
    """Everybody who is suspected at a point, in the order of `plan.suspects`.

    Args:
        stage: with its neighbours.
        book: where it is noted who of the machine's own is stopped; None: no one of them will be.

    Raises:
        RunFault: a name means processes of the lab too, which have been started since it was
            checked: the service, a neighbour, a client.
    """
    beside = [Beside(actor) for actor in stage.entered if actor.role is Role.NEIGHBOUR]
    asked = asks.of(stage.spec)
    named = parted(asked.suspects) if asked else []
    others: list[Suspect] = [Held(book, name) if book else Watched(name) for name in named]
    try:
        for one in (*beside, *others):
            one.look()
        _refuse(others)
    except BaseException:
        for one in others:
            one.release()
        raise
    return (*beside, *others)


def _refuse(named: Iterable[Suspect]) -> None:
    """RunFault where a name, which may mean anybody, means one that this lab has started."""
    pids = {member.pid for member in proc.family(os.getpid())}
    for one in named:
        both = sorted(pids.intersection(one.pids))
        if one.name.startswith(OWN) or (one.name.startswith(NAMED) and both):
            raise RunFault(
                f"suspect '{one.name}' means processes of the lab itself "
                f"({', '.join(map(str, both)) or 'which start later'})",
                at="blame.suspects",
                fix="name the processes that are meant more closely, such as pid:4711",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What processes have used since they started: CPU time, ns, and bytes from and to disks.

    CPU time is that of their ended children too: many a suspect starts one short program after
    another.
    """

    cpu_ns: int
    disk_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Counters of the service and of its CPUs since they began.

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


class Counters:
    """Reads what is known of a service and of suspects at one moment; cheap enough for a window."""

    def __init__(
        self, tree: Tree, tasks: Callable[[], Iterable[Task]], cpus: Sequence[int]
    ) -> None:
        """Nothing is read yet.

        Args:
            tree: where counters of the kernel stand.
            tasks: finds the threads of the service.
            cpus: that it runs on.
        """
        self._read = files.of(tree)
        self._names = {b"cpu%d" % cpu for cpu in cpus}
        self._find = tasks
        self._tasks: list[tuple[int, int]] = []

    def look(self) -> None:
        """Find the service's threads; those that start later are not counted until the next."""
        self._tasks = [(task.pid, task.tid) for task in self._find()]

    def of_service(self) -> Served:
        """Read the counters of the service and of its CPUs."""
        read = (self._read.read(schedstat.path(pid, tid)) for pid, tid in self._tasks)
        known = [one for one in map(schedstat.parse, read) if one]
        busy = soft = 0
        for line in self._read.read("/proc/stat").partition(b"\nintr")[0].splitlines():
            name, _, rest = line.partition(b" ")
            if name in self._names:
                ticks = list(map(int, rest.split()[:8]))
                soft += ticks[SOFTIRQ]
                busy += sum(ticks[n] for n in (USER, NICE, SYSTEM, IRQ, SOFTIRQ))
        return Served(
            run_ns=sum(one.ran_ns for one in known),
            wait_ns=sum(one.waited_ns for one in known),
            disk_bytes=sum(map(self._disk_bytes, {pid for pid, _ in self._tasks})),
            busy_ns=busy * proc.TICK_NS,
            softirq_ns=soft * proc.TICK_NS,
        )

    def of(self, pids: Iterable[int]) -> Use:
        """Read the counters of somebody's processes, added up."""
        each = tuple(pids)
        cpu_ns = 0
        for pid in each:
            with contextlib.suppress(IndexError, ValueError):
                stat = proc.stat(pid)
                cpu_ns += stat.cpu_ns + stat.ended_ns if stat else 0
        return Use(cpu_ns=cpu_ns, disk_bytes=sum(map(self._disk_bytes, each)))

    def _disk_bytes(self, pid: int) -> int:
        io = self._read.read(f"/proc/{pid}/io")
        both = (files.after(io, b"\nread_bytes:"), files.after(io, b"\nwrite_bytes:"))
        return sum(value or 0 for value in both)
