"""Load from the clients of a cluster: the driver's side of a point.

It takes the place of `run.clients`.

    ready → clocks read → jobs split → begin at T → watched → clocks read → results → one result

Everything up to the split is as on one host; what starts a generator is its agent there.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from sojourn import disk
from sojourn.actors.clients import Job
from sojourn.errors import Fault, RunFault, SpecFault
from sojourn.hosts import follow, joined, machine_turn, pack, parts
from sojourn.hosts.about import about
from sojourn.hosts.crew import Crew, Member, counted
from sojourn.hosts.engine import Engine, Facts
from sojourn.places.process import Ledger
from sojourn.run import clients
from sojourn.run.clients import Load
from sojourn.run.generator import Watcher
from sojourn.run.generator_job import Files
from sojourn.run.watch import Event, Show, nothing
from sojourn.spec.hosts import HostsSpec

ASK_S = 2e-3  # until each has its job
FILES_OF = 32  # of so many clients at most each file is stored: four for each, written through
AHEAD_S = (0.6, 2.0, 10.0)  # for agents to start their generators; as in `run.clients`


class Fleet:
    """The clients of a study."""

    def __init__(
        self,
        spec: HostsSpec,
        engine: Engine,
        show: Show = nothing,
        own: Facts | None = None,
        *,
        study: str = "",
    ) -> None:
        """Hire the agents; `engine` is closed with it.

        With the name of a study, their machines are its own while load runs.

        Raises:
            SpecFault, HostFault, RunFault: as `Crew`.
        """
        self._engine, self._show = engine, show
        self.serves: Facts | None = None  # of the host of the service, where that is another
        self.held: Sequence[Facts] = ()  # of other hosts that the study holds throughout
        self._study = study
        try:
            self.crew = Crew(spec, engine, own or about())
        except BaseException:
            engine.close()
            raise
        show(Event(step="hosts", text=self.text))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with contextlib.suppress(Fault):
                self.crew.ready()  # what a lost agent left is undone by the one in its place
            follow.drop(self.crew)
        finally:
            self._engine.close()

    @property
    def text(self) -> str:
        """Who the clients are, for people."""
        where = ", ".join(dict.fromkeys(member.node.text for member in self.crew.members))
        return f"{counted(len(self.crew))} on {where}, by {self._engine.about}"

    @property
    def is_reached_over_loopback(self) -> bool:
        """Whether every client reaches the lab's own loopback."""
        own = self._host
        return all(parts.is_reached_over_loopback(one.facts, own) for one in self.crew.members)

    @property
    def _host(self) -> Facts:
        """The host whose CPUs and loopback a job means: that of the service."""
        return self.serves or self.crew.own

    def offer(
        self, loads: Sequence[Load], ledger: Ledger, watcher: Watcher | None = None
    ) -> list[Mapping[str, Any]]:
        """Offer a service its load from all clients; as `run.clients.together`.

        Raises:
            SpecFault: the load cannot be split, or not be offered from other hosts.
            RunFault: a client failed or was lost, or `watcher` reported so.
        """
        if len(loads) > 1:
            raise SpecFault(
                "services that are measured at once have their clients on one host",
                at="hosts",
                fix="leave out [hosts], or the questions of several services",
            )
        load = loads[0]
        if load.n == 0:
            return clients.together(loads, ledger, watcher)
        return [self._offered(load, watcher or Watcher())]

    def _offered(self, load: Load, watcher: Watcher) -> Mapping[str, Any]:
        crew = self.crew
        crew.ready()
        known = [(member.node, member.facts) for member in crew.members]
        parts.check(load.job, known, self._host)
        for ahead_s in AHEAD_S:
            turns = secrets.token_hex(8)
            facts = [member.facts for member in crew.members]
            if self._study:
                own = machine_turn.holders(facts, [crew.own, *self.held])
                crew.turns = dict.fromkeys(own, self._study)
            jobs = parts.jobs(load.job, facts, self._host, turns)
            crew.read_clocks()
            try:
                self._run(jobs, turns, ahead_s + self._prepared_s(jobs), watcher)
                break
            except Fault as fault:
                if not fault.at.startswith("start_at") or ahead_s == AHEAD_S[-1]:
                    raise
        brought = self._brought(jobs, load.files)
        crew.read_clocks()
        every = [
            joined.part(member, job, own, opened)
            for member, job, (own, opened) in zip(crew.members, jobs, brought, strict=True)
        ]
        whole = joined.joined(crew, every, load.job, load.files)
        self._show(Event(step="hosts", text=joined.together_text(every)))
        follow.drop(crew)
        return whole

    def _run(self, jobs: Sequence[Job], turns: str, ahead_s: float, watcher: Watcher) -> None:
        start_at = time.monotonic_ns() + round(ahead_s * 1e9)
        timed = [
            {**job, "start_at": member.there(start_at)}
            for member, job in zip(self.crew.members, jobs, strict=True)
        ]
        follow.run(self.crew, timed, turns, ahead_s, watcher)

    def _prepared_s(self, jobs: Sequence[Job]) -> float:
        """How long clients take to be ready: those of one machine in turn, machines at once."""
        machines: dict[str, list[Job]] = {}
        for member, job in zip(self.crew.members, jobs, strict=True):
            machines.setdefault(parts.machine_of(member.facts, member.nth), []).append(job)
        asked_s = ASK_S * len(jobs)
        return asked_s + max(clients.prepared_s(tuple(own)) for own in machines.values())

    def _brought(self, jobs: Sequence[Job], files: Files) -> list[tuple[Files, pack.Opened]]:
        """Bring home every result, and the files of each client where they are few."""
        crew, result = self.crew, []
        nothing = [()] * len(crew)
        for (member, table), job in zip(
            follow.each(crew, "pack", nothing, follow.TAKE_S_MAX), jobs, strict=True
        ):
            own = Files.named(files.result.parent, f"{files.result.stem}.{member.nth + 1}")
            if table is None:
                raise RunFault(
                    f"{member.text(len(crew))} wrote no result",
                    at=str(own.result),
                    fix="see whether the disk of its host is full",
                )
            if isinstance(table, dict) and "fault" in table:
                raise follow.refused(crew, member, table["fault"])
            result.append((own, joined.opened(table, own)))
            self._take(member, job, own)
        return result

    def _take(self, member: Member, job: Job, own: Files) -> None:
        """Bring home what a client wrote: `load.1.json`, `load.1.hlog` of the first."""
        wanted = {"raw": Path(str(job["raw"]))} if job.get("raw") else {}
        if len(self.crew) <= FILES_OF:
            wanted |= {"result": own.result, "log": own.log}
            wanted |= {"hlog": Path(str(job["hlog"]))} if job.get("hlog") else {}
            disk.keep_json(own.job, dict(job), indent=1)
        for name, path in wanted.items():
            content = follow.take(self.crew, member, name)
            if content or name == "log":
                disk.keep_whole(path, partial(_fill, content))
            else:
                raise RunFault(
                    f"{member.text(len(self.crew))} wrote no {path.name}",
                    at=str(path),
                    fix=f"see {own.log}; is its disk full?",
                )


def _fill(content: bytes, file: IO[bytes]) -> None:
    file.write(content)
