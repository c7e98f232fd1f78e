"""A neighbour: a task of ours on each of some CPUs, from before the load until after it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sojourn import disk, programs
from sojourn.actors import measured
from sojourn.actors.actor import Actor, Role, Stage, Window
from sojourn.actors.neighbours import core, progress
from sojourn.actors.neighbours.where import (
    APART,
    CLIENT,
    FREE,
    LAB,
    ONE,
    ROLES,
    SERVER,
    copies,
    where_param,
)
from sojourn.errors import HostFault, RunFault
from sojourn.host import Facts
from sojourn.places import proc
from sojourn.places.process import Process
from sojourn.places.process_end import last_words

LOG = "neighbour{}-{}.log"
PROGRESS = "progress{}.json"
PROGRESS_SCHEMA = "sojourn.progress/1"
__all__ = ["APART", "CLIENT", "FREE", "LAB", "ONE", "SERVER", "Neighbour", "check", "where_param"]
__all__ += ["yielding"]


class Neighbour(Actor):
    """Programs beside the service: one on each CPU of a place.

    Attributes:
        text: as the study names it.
        number: which it is of several, from 1.
    """

    role = Role.NEIGHBOUR
    text: str
    number: int

    def __init__(
        self,
        name: str,
        where: str,
        argv: Callable[[], Sequence[str]],
        *,
        footprint_bytes: int = 0,
        speaks: bool = False,
        counts: bool = False,
        called: str = "",
        tolerance: float = 0.1,
        first_s: float = progress.FIRST_S_MAX,
    ) -> None:
        """Nothing is started yet.

        Args:
            name: of its kind.
            where: on whose CPUs: "server", "client", "lab" or "free"; "one": one of the server's;
                "apart": as "free", but never those of the server; "core", "pair": as in `core`.
            argv: the program and its arguments; HostFault if it is not there.
            footprint_bytes: memory that one of them takes; together they take a quarter at most of
                what is free.
            speaks: it prints its progress, and has begun when it does (`progress`).
            called: what it is to people; its kind if nothing is given.
            counts: its progress is what it is there for: a point without is unknown.
            tolerance: share of what it was asked for that may be missing before the point is
                unknown.
            first_s: how long it may take until it reports what it can do.
        """
        self.name = name
        self.text = name
        self.number = 1
        self.where = where
        self._argv = argv
        self._footprint_bytes = footprint_bytes
        self._speaks = speaks
        self._counts = counts
        self._called = called or name
        self._tolerance = tolerance
        self._first_s = first_s
        self._begun_ns = 0
        self._died: list[str] = []
        self._died_log = ""  # of the first of them
        self._progress: progress.Progress | None = None
        self._stage: Stage | None = None
        self._tasks: list[tuple[int, Process]] = []
        self._without: Sequence[int] = ()  # CPUs that have none, because memory is short
        self._used_s: dict[int, float] = {}  # by CPU, of those that have ended
        self._was_held = False

    def check(self, facts: Facts) -> None:
        """Refuse parameters that cannot be had on this machine; nothing is left started.

        Raises:
            AbsentFault: it is to have a core for itself, and there is none.
            SpecFault, HostFault: they cannot.
        """
        core.check(self.where, facts)

    def check_cpus(self, own: Sequence[int]) -> None:
        """Refuse where it is to have CPUs of its own and there are none.

        Args:
            own: CPUs that neither server nor client nor lab has.

        Raises:
            HostFault: there are none.
        """
        if self.where == APART and not own:
            raise HostFault(
                f"separate CPUs for neighbour {self.name}: server, client and lab have all of them",
                at=f"neighbour {self.name}, where",
                fix="take a machine with more CPUs, give the service fewer, or share: where=server",
            )

    def check_room(self, cpus: Mapping[Role, Sequence[int]]) -> None:
        """Refuse more copies than there is room for, by the CPUs of each role; HostFault."""
        self.check_copies(copies(self.where, cpus))

    def check_copies(self, count: int) -> None:
        """Refuse so many copies where this machine has no room for them; HostFault."""

    def enter(self, stage: Stage) -> None:
        """Start a task on each CPU of its place."""
        self._stage = stage
        argv = self._argv()
        cpus = self._place(stage)
        if self._footprint_bytes:
            most = stage.facts.memory.free_bytes // 4 // self._footprint_bytes
            cpus, self._without = cpus[: max(1, most)], cpus[max(1, most) :]
        for number, cpu in enumerate(cpus):
            what, log = f"neighbour {self.name} {number}", self._log_name(number)
            self._tasks.append((cpu, stage.start(what, argv, log=log, cpus=(cpu,))))
        if self._speaks:
            self._await()
        self._begun_ns = time.monotonic_ns() + round(stage.point.warmup_s * 1e9)

    def _place(self, stage: Stage) -> tuple[int, ...]:
        """The CPUs that it is to have; RunFault or HostFault where they are taken."""
        if self.where in core.COPIES:
            return core.cpus_of(self.where, stage)
        cpus = stage.cpus[ROLES[self.where]]
        self.check_cpus(cpus)
        cpus = cpus or stage.cpus[Role.SERVICE]
        return cpus[:1] if self.where == ONE else cpus

    def _await(self) -> None:
        """Wait until every task says what it does: calibrated, and at work."""
        until_s = time.monotonic() + self._first_s
        for number, (_, task) in enumerate(self._tasks):
            log = self._log(number)
            while not progress.has_begun(log, min(until_s, time.monotonic() + 1.0)):
                ended = task.poll()
                if ended or time.monotonic() >= until_s:
                    how = ended.text if ended else f"printed nothing in {self._first_s:.0f} s"
                    raise RunFault(
                        f"neighbour {self.name} {how}: {last_words(log) or 'no word'}",
                        at=str(log),
                        fix="try its command by hand; it says what it misses",
                    )

    def _log(self, number: int) -> Path:
        assert self._stage is not None  # noqa: S101  # it has entered
        return self._stage.folder / self._log_name(number)

    def _log_name(self, number: int) -> str:
        return LOG.format(self._mark, number)

    @property
    def _mark(self) -> str:
        """What tells its files and words from those of others; "" of the first, or only one."""
        return "" if self.number == 1 else f"_{self.number}"

    @property
    def pids(self) -> tuple[int, ...]:
        """First processes of its tasks; each leads a session and a group of processes."""
        return tuple(task.pid for _, task in self._tasks)

    def stop(self) -> None:
        """Stop all its processes (SIGSTOP), until `go`; what it holds is not judged from then."""
        self._was_held = True
        self._signal(signal.SIGSTOP)

    def go(self) -> None:
        """Let all its processes go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for _, task in self._tasks:
            if task.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(task.pid, number)

    def leave(self) -> None:
        """End every task, the last first, also if one of them cannot be ended."""
        if self._was_held:
            self.go()
        ended_ns = time.monotonic_ns()
        for number, (cpu, task) in enumerate(self._tasks):
            if ended := task.poll():
                self._died.append(f"on CPU {cpu} {ended.text}")
                self._died_log = self._died_log or self._log_name(number)
        with ExitStack() as stack:
            for cpu, task in self._tasks:
                stack.callback(self._end, cpu, task)
        if self._tasks:
            self._keep(ended_ns)

    def _keep(self, ended_ns: int) -> None:
        """Keep what the tasks reported about their progress while load ran."""
        texts = [progress.read(self._log(number)) for number in range(len(self._tasks))]
        selected = [one for one in texts if one is not None]
        if len(selected) < len(self._tasks):
            return
        from_ns, to_ns = self._measured_ns(ended_ns)
        self._progress = progress.within(selected, from_ns, to_ns, tolerance=self._tolerance)
        table = {
            "schema": PROGRESS_SCHEMA,
            "from_ns": from_ns,
            "to_ns": to_ns,
            "tasks": [
                {"cpu": cpu, **asdict(one)}
                for (cpu, _), one in zip(self._tasks, selected, strict=True)
            ],
        }
        assert self._stage is not None  # noqa: S101  # it has entered: there is a task
        disk.keep_json(self._stage.folder / PROGRESS.format(self._mark), table)

    def _measured_ns(self, ended_ns: int) -> tuple[int, int]:
        """The measured part of the load, CLOCK_MONOTONIC.

        Where no load has a result, from its begin at the earliest, until the neighbour left.
        """
        assert self._stage is not None  # noqa: S101  # it has entered: there is a task
        part = measured.part_ns(self._stage.folder)
        if part is None:
            return self._begun_ns, ended_ns
        boot_ns = time.time_ns() - time.monotonic_ns()
        return part[0] - boot_ns, part[1] - boot_ns

    def _end(self, cpu: int, task: Process) -> None:
        assert self._stage is not None  # noqa: S101  # it has entered: there is a task
        self._used_s[cpu] = self._stage.end(task).cpu_s

    def cpu_ns(self, cpus: Collection[int]) -> int:
        """CPU time that its tasks and whatever they started have used on these CPUs, ns."""
        return sum(proc.used_ns(task.pid) for cpu, task in self._tasks if cpu in cpus)

    def window(self) -> Window:
        """CPU time that it has used so far, s."""
        return {"cpu_s": self.cpu_ns([cpu for cpu, _ in self._tasks]) / 1e9}

    def saw(self) -> Mapping[str, Any]:
        """What it was, where, and how much CPU time each of its tasks had, s."""
        used = {str(cpu): round(used_s, 3) for cpu, used_s in sorted(self._used_s.items())}
        seen: dict[str, Any] = {
            "kind": self.name,
            "called": self._called,
            "where": self.where,
            "cpu_s": used,
            **({"no_memory_on": list(self._without)} if self._without else {}),
        }
        if self._progress is not None:
            seen["progress"] = self._progress.as_json()
            seen["not_held"] = "" if self._was_held else self._progress.problem
        elif self._counts and self._used_s and not self._was_held:
            seen["not_held"] = "it finished no piece of work within the load: measure for longer"
        log = {"died_log": self._died_log} if self._died else {}
        return {f"neighbour{self._mark}": {**seen, "died": self._died, **log}}


def yielding(argv: Sequence[str]) -> tuple[str, ...]:
    """A command that gives way to everybody (L17: nice 19); HostFault without `nice`."""
    return (str(programs.find("nice", fix="apt install coreutils")), "-n", "19", *argv)


def check(facts: Facts) -> None:
    """HostFault where nothing can be made to give way."""
    del facts
    yielding(())
