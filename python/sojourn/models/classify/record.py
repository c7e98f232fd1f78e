"""A record → the scenarios in which each of its services was measured.

A scenario is a combination of levels of a study; which one follows from how many threads serve and
which CPUs they had. Samples are those of the runs at the highest load within QoS (P13), as in the
report's box plots; of a service without a target those of the closed-loop runs, which ask for all
that it can do, where there are such.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.analysis import resource_use, service
from sojourn.analysis.answer_kind import Answers
from sojourn.analysis.combinations import Part, parts
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.findings.measured import Measured, StudyData
from sojourn.host.usage.resource import NAME
from sojourn.models.classify.answer import Class
from sojourn.models.classify.judge import classify
from sojourn.models.classify.scenario import (
    CPU,
    MEMORY,
    MOST,
    READ,
    SEEN,
    WRITE,
    Carried,
    Scenario,
)
from sojourn.plan.points import Phase
from sojourn.samples import resources as samples
from sojourn.spec.levels import short
from sojourn.stats.times import Floats
from sojourn.store.record import Record

#: Factors that make a scenario.
THREADS = frozenset({"threads", "workers", "cores", "smt", "cpuset"})


@dataclass(frozen=True, slots=True)
class _Placed:
    """A combination that was measured: how many threads and CPUs it had, and its scenario."""

    title: str
    threads: int
    cpus: int
    scenario: Scenario


def classes(
    record: Record, data: StudyData, answers: Answers, *, memory_max: float | None = None
) -> tuple[Class, ...]:
    """Every service of a record, under every combination of its other factors.

    Combinations that were measured in one scenario only are left out where others have more.

    Args:
        record: that is read; nothing is written.
        data: its study and its points.
        answers: how each question is answered.
        memory_max: bytes/s that memory can take, where that is known.

    Raises:
        StoreFault: a file is missing, damaged, or of a newer version.
    """
    groups: dict[str, list[_Placed]] = defaultdict(list)
    cores = _cores(record.manifest)
    for part in parts(data):
        known = service.find(part.data, part.spec, answers)
        placed = _placed(record, part, known, cores, memory_max)
        if placed is not None:
            groups[placed.title].append(placed)
    results = {title: _distinct(group) for title, group in groups.items()}
    most = max(map(len, results.values()), default=0)
    return tuple(
        classify(title, scenarios)
        for title, scenarios in results.items()
        if most == 1 or len(scenarios) > 1
    )


def _cores(manifest: Mapping[str, Any]) -> Mapping[int, int]:
    """CPU → its core, as far as the manifest says."""
    topology = (manifest.get("environment") or {}).get("topology") or {}
    return {int(cpu["id"]): int(cpu["core"]) for cpu in topology.get("cpus") or ()}


def _placed(
    record: Record,
    part: Part,
    finding: ServiceFinding,
    cores: Mapping[int, int],
    memory_max: float | None,
) -> _Placed | None:
    """One combination; None where no run of it has samples."""
    label = part.spec.label
    where, runs = _sampled(part, finding)
    if not runs:
        return None
    cpus = _cpus(record, runs)
    threads = part.data.workers.get(label) or max(1, len(cpus))
    at_once = min(threads, len(cpus) or threads)
    scenario = Scenario(
        threads=at_once,
        is_packed=len({cores.get(cpu, cpu) for cpu in cpus}) < at_once if cpus else False,
        series=_series(runs, (len(cpus) or at_once) / at_once),
        load_rps=float(np.mean([_load(run) for run in runs])),
        where=where,
        carried=_carried(finding),
        capacity=_capacity(runs, memory_max),
        unseen={
            n: why
            for run in runs
            for n, why in (run.resources.not_counted.items() if run.resources else ())
        },
    )
    return _Placed(_title(part), threads, len(cpus), scenario)


def _sampled(part: Part, finding: ServiceFinding) -> tuple[str, list[Measured]]:
    """Which load it is whose samples are taken, and the runs at it."""
    own = part.data.of(part.spec.label)
    if part.spec.qos is None:
        full = [run for run in own if resource_use.counts(run, (Phase.PEAK,))]
        if full:
            return MOST, full
    if finding.resources is None or not finding.resources.sides:
        return "", []
    side = finding.resources.sides[0]
    runs = [
        run
        for run in own
        if resource_use.counts(run) and side.lo_rps <= run.outcome.offered_rps <= side.hi_rps
    ]
    return side.what, runs


def _load(run: Measured) -> float:
    """Requests/s that it was offered; of a closed loop those that it answered."""
    outcome = run.outcome
    return outcome.achieved_rps if outcome.point.phase is Phase.PEAK else outcome.offered_rps


def _title(part: Part) -> str:
    """The service, with the levels that make no scenario."""
    rest = [(short(key), level) for key, level in part.levels.levels if short(key) not in THREADS]
    return ", ".join([part.spec.label, *(f"{name} = {level}" for name, level in rest)])


def _cpus(record: Record, runs: Sequence[Measured]) -> tuple[int, ...]:
    """The CPUs that the service had, as the probe wrote them."""
    for run in runs:
        path = record.folder_of(run.outcome) / NAME
        if path.exists():
            return samples.load(path).server_cpus
    return ()


def _series(runs: Sequence[Measured], scale: float) -> dict[str, list[Floats]]:
    """Samples of each resource that was counted; CPU as a share of the threads' CPUs."""
    results: dict[str, list[Floats]] = defaultdict(list)
    for name, values in _samples_of_runs(runs):
        results[name].append(values * scale if name == CPU else values)
    return dict(results)


def _samples_of_runs(runs: Sequence[Measured]) -> Iterator[tuple[str, Floats]]:
    """(resource, samples that were reported) of each run; of the disk those that both ways have."""
    for run in runs:
        own = run.resources
        if own is None:
            continue
        rows = {
            name: np.asarray(own.values[own.names.index(name)], float)
            for name in SEEN
            if name in own.names
        }
        both = [rows.pop(name) for name in (READ, WRITE) if name in rows]
        for name, values in rows.items():
            yield name, values[~np.isnan(values)]
        if len(both) == 2:
            is_reported = ~np.isnan(both[0]) & ~np.isnan(both[1])
            yield READ, both[0][is_reported]
            yield WRITE, both[1][is_reported]


def _capacity(runs: Sequence[Measured], memory_max: float | None) -> dict[str, float]:
    results: dict[str, float] = {}
    for run in runs:
        if run.resources is not None:
            results |= run.resources.capacity
    return results | ({MEMORY: memory_max} if memory_max else {})


def _carried(finding: ServiceFinding) -> Carried | None:
    """The highest load within QoS, or the most that it takes where no target was asked for."""
    searched = finding.section(MaxLoad)
    if searched is not None and searched.border is not None:
        border = searched.border
        ends = border.interval_rps
        # Where no load fits the estimate is the lowest that was tried, and nothing was carried.
        rps = border.estimate_rps if ends.hi > 0 else 0.0
        return Carried(rps=rps, lo=ends.lo, hi=ends.hi)
    if finding.max_rps is None or finding.max_rps_interval is None:
        return None
    span, most = finding.max_rps_interval, finding.served_rps
    if most is not None:  # how much more it carries is not known
        return Carried(rps=most, lo=most, hi=math.inf, what=MOST)
    return Carried(rps=finding.max_rps, lo=span.lo, hi=span.hi, what=MOST)


def _distinct(group: Sequence[_Placed]) -> list[Scenario]:
    """One for each number of threads that run at once; first those that need not take turns."""
    known: dict[tuple[int, bool], Scenario] = {}
    for one in sorted(group, key=lambda one: (one.threads > one.cpus, one.threads)):
        known.setdefault((one.scenario.threads, one.scenario.is_packed), one.scenario)
    return list(known.values())
