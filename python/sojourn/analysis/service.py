"""All about one service of a study: its loads, curves, highest load, and its answer."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sojourn.analysis import (
    aa_noise_floor,
    limit,
    load_point,
    lqos,
    overlay,
    pace,
    probe_client,
    resource_use,
    runs,
)
from sojourn.analysis.answer_kind import Answers
from sojourn.analysis.runs import Judged
from sojourn.findings import answer
from sojourn.findings.findings import Qos, ServiceFinding
from sojourn.findings.load_point import Line, LoadPoint
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.host import shared
from sojourn.papers import paper
from sojourn.papers import tailbench as paper_tailbench
from sojourn.places.place import EMULATED
from sojourn.plan import axis as load_axis
from sojourn.plan import evidence
from sojourn.plan.axis import Axis
from sojourn.plan.failures import is_failed
from sojourn.plan.next import Progress, progress
from sojourn.plan.points import Outcome, Phase, Verdict
from sojourn.plan.posterior import Posterior
from sojourn.plan.search import Search, border_of
from sojourn.services.kind import RUNS_ON
from sojourn.spec import MaxRps, ServiceSpec
from sojourn.stats import lowess
from sojourn.stats.interval import Interval
from sojourn.text.numbers import load_share, percentile
from sojourn.units import show_count

TAIL = 0.99  # judged where there is no target
#: What a placement may share that no other number of the run shows.
AGAINST = (shared.UNLIKE, shared.UNBALANCED)
AXIS_INVALID = "no run of the load axis is valid: 100 % is only a name"
NOT_RESTARTED = "never restarted: what differs from one start to the next is not in the intervals"


def find(data: StudyData, spec: ServiceSpec, answers: Answers) -> ServiceFinding:
    """What the study found about one service; `answers`: how each question is answered."""
    outcomes = [m.outcome for m in data.of(spec.label)]
    state = progress(data.study, spec, outcomes, data.questions)
    asked = data.questions.asked(data.study, spec)
    names = {question.name for question in asked}
    kinds = [kind for kind in answers.values() if kind.name in names]
    finding = common(data, spec, state)
    for kind in kinds:
        finding = kind.prepared(data, spec, finding)
    for kind in kinds:
        finding = finding.having(kind.name, kind.answer(data, spec, state, finding))
    workers = data.workers.get(spec.label)
    if any(question.needs_axis for question in asked):
        finding = replace(finding, paper=_paper(finding, spec, workers))
    return _concluded(finding, workers)


def common(data: StudyData, spec: ServiceSpec, state: Progress) -> ServiceFinding:
    """What is common to all questions: target, load axis, and the loads that were swept."""
    measured = data.of(spec.label)
    outcomes = [m.outcome for m in measured]
    qos = lqos.qos(spec, state.target)
    axis = state.axis
    max_rps = axis.rps if axis else None
    capacity = None if axis and axis.rule is MaxRps.ASKED else max_rps
    served = load_axis.exceeded(axis, outcomes) if axis else None
    swept = [runs.judge(m, qos) for m in measured if m.outcome.point.phase is Phase.SWEEP]
    judged = [j for j in swept if not aa_noise_floor.is_twin(j)]
    posterior = _posterior(state, outcomes, data.questions.search_of(state))
    points = _points(judged, qos, max_rps, posterior)
    q, probes = qos.q if qos else TAIL, probe_client.compare(swept)
    limited = limit.find(measured)
    smooth, crossing = _curves(judged, qos, q)
    return ServiceFinding(
        service=spec.label,
        kind=spec.kind,
        qos=qos,
        max_rps=max_rps,
        max_rps_interval=_peaks(axis),
        max_rps_rule=str(axis.rule if axis else spec.max_rps),
        points=points,
        lines=(*smooth, *overlay.lines(points, capacity, data.workers.get(spec.label), q)),
        crossing=crossing,
        paper=(),
        setup=data.setups.get(spec.label, ()),
        answer="",
        verdict=Verdict.UNKNOWN,
        reasons=(
            *_circumstances(data.setups.get(spec.label, ())),
            *_ended(outcomes, data.setups.get(spec.label, ())),
            *((limited.text,) if limited and limited.is_idle is not False else ()),
            *_doubts(replace(state, next=None) if data.is_complete else state, points),
            *_exceeded(served),
            *probe_client.doubts(probes),
        ),
        noise_floor=aa_noise_floor.floor(swept, q),
        twins=tuple(j.run for j in swept if aa_noise_floor.is_twin(j)),
        probes=probes,
        resources=resource_use.find(measured, spec.label, posterior),
        kept=pace.neighbour_paces(data, spec),
        is_axis_valid=axis is None or axis.is_valid,
        served_rps=served,
        limit=limited,
    )


def headline(finding: ServiceFinding, workers: int | None) -> str:
    """A service in a sentence: that of the first question that decides."""
    lead = _lead(finding)
    return lead.headline if lead else answer.headline(finding, workers)


def _lead(finding: ServiceFinding) -> Section | None:
    return next((one for one in finding.sections.values() if one.verdict is not None), None)


def _concluded(finding: ServiceFinding, workers: int | None) -> ServiceFinding:
    """With answer, verdict and reasons of all questions together."""
    lead = _lead(finding)
    answers = [section.answer for section in finding.sections.values()]
    if lead is None:
        return replace(finding, answer=_joined([headline(finding, workers), *answers]))
    more = tuple(reason for reason in lead.reasons if reason not in finding.reasons)
    return replace(
        finding,
        answer=_joined(answers),
        verdict=lead.verdict or Verdict.UNKNOWN,
        reasons=(*finding.reasons, *more),
    )


def _joined(texts: Sequence[str]) -> str:
    return " ".join(part for part in texts if part)


def _paper(
    finding: ServiceFinding, spec: ServiceSpec, workers: int | None
) -> tuple[paper.Row, ...]:
    """The papers' figures beside ours, those of each question last."""
    q = finding.qos.q if finding.qos else TAIL
    ideal = [line for line in finding.lines if line.name.startswith("M/M/")]
    rows = (
        *paper_tailbench.rows(finding, spec),
        *paper.rows(finding, workers, overlay.parts_at(finding.points, ideal, q)),
    )
    return (*rows, *(row for section in finding.sections.values() for row in section.paper))


def _posterior(
    state: Progress, outcomes: Sequence[Outcome], search: Search | None
) -> Posterior | None:
    """What all runs of the service say about any load; None without a target or a run."""
    if search is not None:
        return search.posterior
    axis, target = state.axis, state.target
    if axis is None or target is None:
        return None
    return border_of(evidence.trials(outcomes), axis, target)


def _points(
    judged: Sequence[Judged], qos: Qos | None, max_rps: float | None, posterior: Posterior | None
) -> tuple[LoadPoint, ...]:
    """The loads of the sweep, ascending."""
    loads: dict[float, list[Judged]] = defaultdict(list)
    for j in judged:
        loads[j.run.fraction or j.run.offered_rps].append(j)
    return tuple(load_point.gather(loads[load], qos, max_rps, posterior) for load in sorted(loads))


def _curves(
    judged: Sequence[Judged], qos: Qos | None, q: float
) -> tuple[tuple[Line, ...], Interval | None]:
    """LOWESS of the mean and of the decisive quantile, and where the latter crosses the bound."""
    dots = [j.run for j in judged if j.is_believed and j.run.fraction is not None]
    load = np.array([run.fraction for run in dots], float)
    tail = np.array([dict(run.quantiles).get(q) for run in dots], float)
    # A run that lost a request has no mean, because it is infinite.
    mean = np.array([math.inf if run.mean_ns is None else run.mean_ns for run in dots], float)
    lines = []
    crossing = None
    for name, values in ((percentile(q), tail), ("mean", mean)):
        curve = lowess.fit(load, values)
        if curve is None:
            continue
        lines.append(
            Line(
                name=f"lowess {name}",
                about=f"LOWESS of the runs' {name}: span 0.6, degree 1, on the logarithm, "
                "no robustness iterations (PAPERS P9)",
                fraction=tuple(map(float, curve.x)),
                value_ns=tuple(map(float, curve.y)),
            )
        )
        if values is tail and qos is not None:
            result = lowess.crossing(curve, qos.bound_ns)
            crossing = None if result.at is None or result.is_open else result.interval
    return tuple(lines), crossing


def _peaks(axis: Axis | None) -> Interval | None:
    """The least and the greatest peak; None of a single run, which says nothing of its spread."""
    return Interval(lo=axis.lo_rps, hi=axis.hi_rps) if axis and axis.runs > 1 else None


def _circumstances(setup: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Facts of a service that make its numbers doubtful."""
    facts = dict(setup)
    if EMULATED in facts:
        yield "the virtual machine was emulated (TCG): times are a translator's, not a guest's"
    if RUNS_ON in facts:
        yield NOT_RESTARTED
    yield from (f"{one.what}: {one.effect}" for one in AGAINST if one.what in facts)


def _ended(outcomes: Sequence[Outcome], setup: Sequence[tuple[str, str]]) -> Iterator[str]:
    """That a service which the lab does not start ended, or did not answer, in between."""
    lost = [outcome for outcome in outcomes if is_failed(outcome)]
    if lost and RUNS_ON in dict(setup):
        first = next(iter(lost[0].reasons), "nothing was measured")
        runs = "1 run is" if len(lost) == 1 else f"{len(lost)} runs are"
        later = (
            "" if lost[-1] is outcomes[-1] else "; runs before and after are of different starts"
        )
        yield f"not there throughout: {runs} unknown ({first}){later}"


def _exceeded(served: float | None) -> Iterator[str]:
    """That the closed loop found too little."""
    if served is not None:
        yield (
            f"max RPS is at least {show_count(served)} requests/s, because a run at a set load "
            "got that; the closed loop got less, and 100 % load is what it got"
        )


def _doubts(state: Progress, points: Sequence[LoadPoint]) -> tuple[str, ...]:
    """What speaks against the numbers, whatever was asked."""
    reasons = list(state.reasons)
    if state.axis is None:
        return tuple(reasons)
    if not state.axis.is_valid:
        reasons.append(AXIS_INVALID)
        reasons += state.axis.reasons
    if state.next is not None:
        reasons.append("the study was not finished: run it again, it resumes")
    unknown = [p for p in points if p.verdict is Verdict.UNKNOWN]
    for what, kind in (("not valid", False), ("undecided", True)):
        loads = ", ".join(load_share(p.fraction) for p in unknown if p.is_believed is kind)
        if loads:
            reasons.append(f"{what} at {loads} load")
    return tuple(reasons)
