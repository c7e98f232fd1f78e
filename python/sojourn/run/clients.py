"""The load of one point, from as many generator processes as the service is to see.

Processes that share a load begin at one instant, some tenths of a second ahead: each has drawn its
plan and opened its connections by then, or it refuses to run, and all are asked once more with
more time. Each leaves its own files (`load.1.json`, …); `load.json`, `load.hlog` and `raw.parquet`
are those of all together, so that whoever reads a point need not know how many there were.

A probe client, if there is one, begins with them; its result is `probe.json`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sojourn import disk
from sojourn.actors import Actor, Catalogue, cast, clients
from sojourn.actors.clients import Job, logs, numbered, probing, turns
from sojourn.actors.clients.probing import Probe
from sojourn.errors import Fault
from sojourn.places.process import Ledger
from sojourn.plan import Point
from sojourn.plan.left_out import LeftOut
from sojourn.run import generator, generator_job
from sojourn.run.generator import Watcher
from sojourn.run.generator_job import Files
from sojourn.run.gone import without_files_of
from sojourn.spec import ServiceSpec, Study

PROBE = "probe"
AHEAD_S = (0.4, 2.0, 10.0)  # for processes to start; a machine that is busy gets a second chance
PER_CLIENT_S = 0.1
CONNECTIONS_PER_S = 10_000  # opened, at the least


class Offer(Protocol):
    """Offers services their loads, from the same instant on; as `together`."""

    def __call__(
        self, loads: Sequence[Load], ledger: Ledger, watcher: Watcher | None = None
    ) -> list[Mapping[str, Any]]:
        """For each load the result of its processes together."""


@dataclass(frozen=True, slots=True)
class Load:
    """The load of one service.

    Attributes:
        job: the generator's.
        n: from how many processes; 1: as it is, 0: to no one (see `actors.clients`).
        files: where its result goes.
        probe: who asks for a part of it, where it can be parted; None: no one.
    """

    job: Job
    n: int
    files: Files
    probe: Probe | None = None

    def parts(self) -> tuple[list[tuple[Job, Files]], list[tuple[Job, Files]]]:
        """What each process gets: those that share the load, and the probe, if there is one."""
        load, asks = probing.beside(self.job, self.probe if self.n else None)
        jobs = clients.chosen(self.n).share(load, self.n)
        probes = [(asks, Files.named(self.files.result.parent, PROBE))] if asks else []
        if len(jobs) == 1:
            return [(jobs[0], self.files)], probes
        return [(job, _own(self.files, nth)) for nth, job in enumerate(jobs)], probes


def run(
    job: Job, n: int, files: Files, ledger: Ledger, watcher: Watcher | None = None
) -> Mapping[str, Any]:
    """Offer one service its load from `n` processes; as `together`."""
    return together([Load(job, n, files)], ledger, watcher)[0]


def together(
    loads: Sequence[Load], ledger: Ledger, watcher: Watcher | None = None
) -> list[Mapping[str, Any]]:
    """Offer several services their loads, from the same instant on.

    Returns:
        For each the result of its processes together, which is in its `files.result` too.

    Raises:
        SpecFault: a job is refused, or cannot be shared.
        RunFault: a process failed, or `watcher` reported so.
    """
    parts = [load.parts() for load in loads]
    flat = [part for own, probes in parts for part in (*own, *probes)]
    if len(flat) == 1:
        return [generator.run(*flat[0], ledger, watcher)]
    owners = [nth for nth, (own, probes) in enumerate(parts) for _ in (*own, *probes)]
    with (
        tempfile.TemporaryDirectory(prefix="sojourn-") as folder,
        without_files_of(Path(folder)),
    ):
        jobs = turns.taken([job for job, _ in flat], Path(folder, "turns"))
        flat = [(job, own) for job, (_, own) in zip(jobs, flat, strict=True)]
        results = iter(_at_one_instant(flat, ledger, watcher, owners))
    outcome = []
    for load, (own, probes) in zip(loads, parts, strict=True):
        outcome.append(_merged(load, own, [next(results) for _ in own]))
        for _ in probes:
            next(results)  # it is in its file
    return outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where load comes from.

    Attributes:
        offer: services their loads.
        address: at which services on bare metal listen, so that clients reach them; "": loopback.
        rows: of `service.json`: what people should know of it.
        cast: who enters for a point, as `actors.cast`, which knows this host alone.
        measure: a whole point where its service runs elsewhere, in place of all that is done here.
        skipped: combinations that the hosts of services cannot have, where those are others.
    """

    offer: Offer = together
    address: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    cast: Callable[[Study, ServiceSpec, Point, Catalogue], Sequence[Actor]] = cast
    measure: Callable[[Study, Point, Sequence[Path], Ledger], None] | None = None
    skipped: tuple[LeftOut, ...] = ()


HERE = Source()


def _merged(
    load: Load, parts: Sequence[tuple[Job, Files]], results: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    if len(parts) == 1:
        return results[0]
    merged = clients.merged(list(results), load.job)
    disk.keep_json(load.files.result, merged, indent=1)
    _join(load.job, tuple(job for job, _ in parts))
    return merged


def _own(files: Files, nth: int) -> Files:
    """The files of one process: `load.1.json`, `load.1.job.json`, `load.1.log` of the first."""
    name = f"{files.result.stem}.{nth + 1}"
    return Files.named(files.result.parent, name)


def _at_one_instant(
    parts: Sequence[tuple[Job, Files]],
    ledger: Ledger,
    watcher: Watcher | None,
    owners: Sequence[int],
) -> list[Mapping[str, Any]]:
    for ahead_s in AHEAD_S:
        prepares_s = prepared_s(tuple(job for job, _ in parts))
        start_at = time.monotonic_ns() + round((ahead_s + prepares_s) * 1e9)
        timed = [({**job, "start_at": start_at}, own) for job, own in parts]
        try:
            return generator.together(timed, ledger, watcher, owners)
        except Fault as fault:
            if not fault.at.startswith("start_at") or ahead_s == AHEAD_S[-1]:
                raise
    raise AssertionError  # the last attempt returned or raised


def prepared_s(jobs: tuple[Job, ...]) -> float:
    """How long processes take to be ready, s, on a machine that is not busy: all in turn."""
    requests = sum(generator_job.requests(job) for job in jobs)
    connections = sum(int(job.get("connections", 0)) for job in jobs)
    own_s = requests / generator_job.PLAN_RPS_MIN + connections / CONNECTIONS_PER_S
    return own_s + PER_CLIENT_S * len(jobs)


def _join(job: Job, jobs: tuple[Job, ...]) -> None:
    """Put together what the processes wrote beside their results."""
    for key, merge in (("hlog", logs.merge_hlog), ("raw", logs.merge_raw)):
        if job.get(key):
            into = Path(str(job[key]))
            merge([numbered(into, nth) for nth in range(len(jobs))], into)
