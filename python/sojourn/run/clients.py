"""The load of one point, from as many generator processes as the service is to see.

Processes that share a load begin at one instant, some tenths of a second ahead: each has drawn its
plan and opened its connections by then, or it refuses to run, and all are asked once more with
more time. Each leaves its own files (`load.1.json`, …); `load.json`, `load.hlog` and `raw.parquet`
are those of all together, so that whoever reads a point need not know how many there were.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn.actors import clients
from sojourn.actors.clients import Job, logs, numbered
from sojourn.errors import Fault
from sojourn.places.process import Ledger
from sojourn.run import generator, record
from sojourn.run.generator import Files, Watcher

AHEAD_S = (0.4, 2.0, 10.0)  # for processes to start; a machine that is busy gets a second chance
PER_CLIENT_S = 0.1
CONNECTIONS_PER_S = 10_000  # opened, at the least


def run(
    job: Job, n: int, files: Files, ledger: Ledger, watcher: Watcher | None = None
) -> Mapping[str, Any]:
    """Offer a job's load from `n` processes; 1: as it is, 0: to nobody (see `actors.clients`).

    Returns:
        The result of all together, which is in `files.result` too.

    Raises:
        SpecFault: it is refused, or cannot be shared.
        RunFault: a process failed, or `watcher` said so.
    """
    jobs = clients.chosen(n).share(job, n)
    if len(jobs) == 1:
        return generator.run(jobs[0], files, ledger, watcher)
    own = [_own(files, nth) for nth in range(len(jobs))]
    results = _at_one_instant(jobs, own, ledger, watcher)
    merged = clients.merged(results, job)
    record.write_json(files.result, merged)
    _join(job, jobs)
    return merged


def _own(files: Files, nth: int) -> Files:
    """The files of one process: `load.1.json`, `load.1.job.json`, `load.1.log` of the first."""
    name = f"{files.result.stem}.{nth + 1}"
    return Files.named(files.result.parent, name)


def _at_one_instant(
    jobs: tuple[Job, ...], files: list[Files], ledger: Ledger, watcher: Watcher | None
) -> list[Mapping[str, Any]]:
    for ahead_s in AHEAD_S:
        start_at = time.monotonic_ns() + round((ahead_s + prepared_s(jobs)) * 1e9)
        parts = [({**job, "start_at": start_at}, own) for job, own in zip(jobs, files, strict=True)]
        try:
            return generator.together(parts, ledger, watcher)
        except Fault as fault:
            if not fault.at.startswith("start_at") or ahead_s == AHEAD_S[-1]:
                raise
    raise AssertionError  # the last attempt returned or raised


def prepared_s(jobs: tuple[Job, ...]) -> float:
    """How long processes take to be ready, s, on a machine that is not busy: all in turn."""
    requests = sum(generator.requests(job) for job in jobs)
    connections = sum(int(job.get("connections", 0)) for job in jobs)
    own_s = requests / generator.PLAN_RPS_MIN + connections / CONNECTIONS_PER_S
    return own_s + PER_CLIENT_S * len(jobs)


def _join(job: Job, jobs: tuple[Job, ...]) -> None:
    """Put together what the processes wrote beside their results."""
    for key, merge in (("hlog", logs.merge_hlog), ("raw", logs.merge_raw)):
        if job.get(key):
            into = Path(str(job[key]))
            merge([numbered(into, nth) for nth in range(len(jobs))], into)
