"""The numbers of one service under all combinations of levels, block by block, to be compared.

A time is the quantile of a run's own requests, whether or not that run alone can say how sure it
is: how far equal runs lie apart is what blocks tell, of these very numbers. Where a run has a twin
(the same once more, in the same block) both are averaged, and one alone represents both.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sojourn.analysis.combinations import Part
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.highest_load import MaxLoad, is_closed
from sojourn.findings.load_point import Run
from sojourn.plan import axis
from sojourn.plan.evidence import LOAD_PHASES
from sojourn.plan.make import GROWN_ENOUGH
from sojourn.plan.points import Outcome, Phase, Verdict
from sojourn.plan.setting import Level, Setting, level_text
from sojourn.spec import Study
from sojourn.stats.interval import Interval
from sojourn.stats.log_ratio_contrasts import BLOCKS_MIN, Blocks, Counts


@dataclass(frozen=True, slots=True)
class Combinations:
    """All combinations of one service, with what was found under each."""

    study: Study
    parts: tuple[Part, ...]
    findings: tuple[ServiceFinding, ...]

    @property
    def label(self) -> str:
        """The label of the service that all combinations are of."""
        return self.parts[0].spec.label

    def tail_q(self, otherwise: float) -> float:
        """The quantile of its target; a combination of which nothing was measured has no target."""
        return next((one.qos.q for one in self.findings if one.qos), otherwise)

    def levels(self, key: str) -> tuple[Level, ...]:
        """Of a factor, those that could be had here, in the study's order."""
        here = {level_text(part.levels[key]) for part in self.parts}
        return tuple(level for level in self.study.factors[key] if level_text(level) in here)


def late(service: Combinations, load: float, q: float | None) -> str:
    """Whether the client's own lateness is part of these times (M3); q None: of the mean."""
    results = (
        estimate
        for finding in service.findings
        for point in finding.points
        for estimate in (point.quantiles if q is not None else (point.mean,))
        if point.fraction == load and (q is None or estimate.q == q)
    )
    return "the client's own lateness is part of it" if any(e.lateness_ns for e in results) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Borders:
    """How much load fits, by combination; of two starts of the service at least.

    Attributes:
        closed: highest load and its interval, where both ends are known.
        fitting: combinations under which some load surely fits.
        without: those under which none does, down to the lowest that was tried.
    """

    closed: Mapping[Setting, tuple[float, Interval]]
    fitting: frozenset[Setting] = frozenset()
    without: frozenset[Setting] = frozenset()


def borders(service: Combinations) -> Borders:
    """How much load fits under each combination that was searched."""
    known = {
        part.levels: border
        for part, finding in zip(service.parts, service.findings, strict=True)
        if (search := finding.section(MaxLoad))
        and (border := search.border)
        and border.starts >= BLOCKS_MIN
    }
    return Borders(
        closed={
            levels: (one.estimate_rps, one.interval_rps)
            for levels, one in known.items()
            if is_closed(one)
        },
        fitting=frozenset(levels for levels, one in known.items() if one.interval_rps.lo > 0),
        without=frozenset(levels for levels, one in known.items() if one.interval_rps.hi == 0),
    )


def times(service: Combinations, load: float, q: float | None) -> tuple[Blocks, Counts]:
    """A quantile, or the mean (q None), at one load by block and combination, ns.

    Of believed runs: the geometric mean of a run and its twin, and of how many runs each is that.
    Infinite where as many requests were lost, and where the queue grew (M8) if it did so in more
    than one run at that load, twins not counted: a block of these is not left out. That the load is
    more than is served follows only where it grew in all blocks (`Contrast.endless`).
    """
    logs = _logs(service, load, q)
    means = {
        block: {levels: math.exp(math.fsum(of) / len(of)) for levels, of in result.items()}
        for block, result in logs.items()
    }
    counts = {
        block: {levels: len(of) for levels, of in outcome.items()}
        for block, outcome in logs.items()
    }
    return means, counts


def losses(service: Combinations, load: float, q: float | None) -> dict[Setting, float]:
    """Of the requests of runs with an infinite quantile, the share that was lost, by combination.

    Only of believed runs at one load: what is infinite elsewhere is so because the queue grew.
    """
    results: dict[Setting, float] = {}
    for part, finding in zip(service.parts, service.findings, strict=True):
        keys = {
            run.key for run in _at(finding, load) if run.is_believed and _value(run, q) == math.inf
        }
        if not keys:
            continue
        outcomes = [m.outcome for m in part.data.of(part.spec.label) if m.outcome.point.key in keys]
        if requests := sum(outcome.requests for outcome in outcomes):
            results[part.levels] = sum(outcome.lost for outcome in outcomes) / requests
    return results


def _value(run: Run, q: float | None) -> float | None:
    """Of a run; its mean is infinite where a request was lost, because it has none else."""
    if q is None:
        return math.inf if run.mean_ns is None else run.mean_ns
    return dict(run.sample).get(q)


def _logs(
    service: Combinations, load: float, q: float | None
) -> Mapping[int, Mapping[Setting, list[float]]]:
    values: dict[int, dict[Setting, list[float]]] = defaultdict(lambda: defaultdict(list))
    for part, finding in zip(service.parts, service.findings, strict=True):
        runs = list(_at(finding, load))
        known = {run.repeat for run in runs if run.is_believed}
        grown = (run.grows for p in finding.points if p.fraction == load for run in p.runs)
        is_enough = sum(grown) >= GROWN_ENOUGH  # as `LoadPoint.is_overloaded` counts
        for run in runs:
            value = _value(run, q)
            if run.is_believed and value:
                values[run.repeat][part.levels].append(math.log(value))
            elif is_enough and run.grows and run.repeat not in known:
                values[run.repeat][part.levels].append(math.inf)
    return values


def _at(finding: ServiceFinding, load: float) -> Iterator[Run]:
    """All runs at one load, twins too."""
    for point in finding.points:
        if point.fraction == load:
            yield from point.runs
    yield from (twin for twin in finding.twins if twin.fraction == load)


def shields(service: Combinations) -> dict[Setting, frozenset[str]]:
    """The shields that its runs at set loads had, by combination.

    Of believed runs: the others are not compared.
    """
    return {
        part.levels: frozenset(
            outcome.shield
            for outcome in (one.outcome for one in part.data.of(part.spec.label))
            if outcome.point.phase in LOAD_PHASES and outcome.verdict is not Verdict.UNKNOWN
        )
        for part in service.parts
    }


def has_peaks(service: Combinations) -> bool:
    """Whether its closed loop was measured, whatever became of it."""
    return any(True for _ in _closed_loops(service))


def peaks(service: Combinations) -> Blocks:
    """Throughput of the closed loop by block and combination, requests/s.

    Of runs that say how fast the server is: not where many requests failed, as of the load axis.
    """
    blocks: dict[int, dict[Setting, float]] = {}
    for levels, outcome in _closed_loops(service):
        if axis.is_valid(outcome) and outcome.achieved_rps > 0:
            blocks.setdefault(outcome.point.repeat, {})[levels] = outcome.achieved_rps
    return blocks


def _closed_loops(service: Combinations) -> Iterator[tuple[Setting, Outcome]]:
    """Runs of the closed loop, with their levels; another's are not its own."""
    for part in service.parts:
        for one in part.data.of(part.spec.label) if part.has_axis else ():
            point = one.outcome.point
            if point.phase is Phase.PEAK and point.offered_rps is None:
                yield part.levels, one.outcome
