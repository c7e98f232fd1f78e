"""A neighbour: a task of ours on each of some CPUs, from before the load until after it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from sojourn import programs
from sojourn.actors.actor import Actor, Role, Stage, Window
from sojourn.actors.kind import WHERE
from sojourn.host import Facts
from sojourn.places import proc
from sojourn.places.process import Process
from sojourn.services.params import Param

LOG = "neighbour.log"
SERVER, CLIENT, LAB, FREE, ONE = "server", "client", "lab", "free", "one"
_ROLES = {
    SERVER: Role.SERVICE,
    CLIENT: Role.CLIENT,
    LAB: Role.PROBE,
    FREE: Role.NEIGHBOUR,
    ONE: Role.SERVICE,
}


def where_param(default: str) -> Param:
    """The parameter that says on whose CPUs a neighbour runs."""
    about = "whose CPUs it runs on; free: those of nobody, or else the server's; "
    about += "one: the first of the server's"
    return Param(name=WHERE, about=about, default=default, type=str, choices=tuple(_ROLES))


class Neighbour(Actor):
    """Programs beside the service: one on each CPU of a place."""

    role = Role.NEIGHBOUR

    def __init__(
        self,
        name: str,
        where: str,
        argv: Callable[[], Sequence[str]],
        *,
        footprint_bytes: int = 0,
    ) -> None:
        """Nothing is started yet.

        Args:
            name: of its kind.
            where: on whose CPUs: "server", "client", "lab" or "free"; "one": one of the server's.
            argv: the program and its arguments; HostFault if it is not there.
            footprint_bytes: memory that one of them takes; together they take a quarter at most of
                what is free.
        """
        self.name = name
        self.where = where
        self._argv = argv
        self._footprint_bytes = footprint_bytes
        self._stage: Stage | None = None
        self._tasks: list[tuple[int, Process]] = []
        self._used_s: dict[int, float] = {}  # by CPU, of those that have ended

    def enter(self, stage: Stage) -> None:
        """Start a task on each CPU of its place."""
        self._stage = stage
        argv = self._argv()
        cpus = stage.cpus[_ROLES[self.where]] or stage.cpus[Role.SERVICE]
        cpus = cpus[:1] if self.where == ONE else cpus
        if self._footprint_bytes:
            most = stage.facts.memory.free_bytes // 4 // self._footprint_bytes
            cpus = cpus[: max(1, most)]
        for number, cpu in enumerate(cpus):
            what = f"neighbour {self.name} {number}"
            self._tasks.append((cpu, stage.start(what, argv, log=LOG, cpus=(cpu,))))

    def leave(self) -> None:
        """End every task, the last first, also if one of them cannot be ended."""
        with ExitStack() as stack:
            for cpu, task in self._tasks:
                stack.callback(self._end, cpu, task)

    def _end(self, cpu: int, task: Process) -> None:
        assert self._stage is not None  # noqa: S101  # it has entered: there is a task
        self._used_s[cpu] = self._stage.end(task).cpu_s

    def cpu_ns(self, cpus: Collection[int]) -> int:
        """CPU time that its living tasks have used on these CPUs, ns."""
        return sum(proc.cpu_ns(task.pid) for cpu, task in self._tasks if cpu in cpus)

    def window(self) -> Window:
        """CPU time that it has used so far, s."""
        return {"cpu_s": self.cpu_ns([cpu for cpu, _ in self._tasks]) / 1e9}

    def saw(self) -> Mapping[str, Any]:
        """What it was, where, and how much CPU time each of its tasks had, s."""
        used = {str(cpu): round(used_s, 3) for cpu, used_s in sorted(self._used_s.items())}
        return {"neighbour": {"kind": self.name, "where": self.where, "cpu_s": used}}


def yielding(argv: Sequence[str]) -> tuple[str, ...]:
    """A command that gives way to everybody (L17: nice 19); HostFault without `nice`."""
    return (str(programs.find("nice", fix="apt install coreutils")), "-n", "19", *argv)


def check(facts: Facts) -> None:
    """HostFault where nothing can be made to give way."""
    del facts
    yielding(())
