"""All about one service of a study: its loads, curves, highest load, and its answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sojourn.analysis import answer, load_point, lowess, lqos, max_load, overlay, paper, runs
from sojourn.analysis.data import StudyData
from sojourn.analysis.findings import (
    Interval,
    Line,
    LoadPoint,
    MaxLoad,
    Qos,
    ServiceFinding,
)
from sojourn.analysis.runs import Judged
from sojourn.analysis.words import load_share, percentile
from sojourn.plan import evidence
from sojourn.plan.axis import Axis
from sojourn.plan.next import Progress, progress
from sojourn.plan.points import Outcome, Phase, Verdict
from sojourn.plan.posterior import Posterior
from sojourn.plan.questions.max_load import search_of
from sojourn.plan.search import border_of
from sojourn.spec import ServiceSpec


def find(given: StudyData, spec: ServiceSpec) -> ServiceFinding:
    """What the study found about one service."""
    measured = given.of(spec.label)
    outcomes = [m.outcome for m in measured]
    stands = progress(given.study, spec, outcomes)
    qos = lqos.qos(spec, stands.target)
    axis = stands.axis
    max_rps = axis.rps if axis else None
    judged = [runs.judge(m, qos) for m in measured if m.outcome.point.phase is Phase.SWEEP]
    points = _points(judged, qos, max_rps, _said(stands, outcomes))
    workers = given.workers.get(spec.label)
    q = qos.q if qos else 0.99
    ideal = overlay.lines(points, max_rps, workers, q)
    smooth, crossing = _curves(judged, qos, q)
    most = max_load.judge(given, measured, stands, qos) if qos else None
    verdict, reasons = _verdict(stands, points, most)
    found = ServiceFinding(
        service=spec.label,
        kind=spec.kind,
        qos=qos,
        max_rps=max_rps,
        max_rps_interval=_peaks(axis),
        max_rps_rule=str(axis.rule if axis else spec.max_rps),
        points=points,
        lines=(*smooth, *ideal),
        crossing=crossing,
        max_load=most,
        paper=(),
        setup=given.setups.get(spec.label, ()),
        answer="",
        verdict=verdict,
        reasons=reasons,
    )
    return replace(
        found,
        answer=answer.service(found, workers),
        paper=paper.rows(found, workers, overlay.parts_at(points, ideal, q)),
    )


def null(given: StudyData, spec: ServiceSpec) -> ServiceFinding:
    """What the instrument itself costs: nothing answers, so there is no theory and no peak."""
    judged = [runs.judge(m, None) for m in given.of(spec.label)]
    top = max((j.run.offered_rps for j in judged), default=None)
    loads: dict[float, list[Judged]] = defaultdict(list)
    for j in judged:
        loads[j.measured.outcome.point.offered_rps or j.run.offered_rps].append(j)
    points = tuple(load_point.gather(loads[rps], None, top, None) for rps in sorted(loads))
    unknown = [p for p in points if p.verdict is Verdict.UNKNOWN]
    found = ServiceFinding(
        service=spec.label,
        kind=spec.kind,
        qos=None,
        max_rps=top,
        max_rps_interval=None,
        max_rps_rule=answer.NULL_RULE,
        points=points,
        lines=(),
        crossing=None,
        max_load=None,
        paper=(),
        setup=(("what is measured", "the instrument itself: nothing answers"),),
        answer="",
        verdict=Verdict.UNKNOWN if unknown or not points else Verdict.HOLDS,
        reasons=tuple(reason for p in unknown for reason in p.reasons),
    )
    return replace(found, answer=answer.service(found, None))


def _said(stands: Progress, outcomes: Sequence[Outcome]) -> Posterior | None:
    """What all runs of the service say about any load; None without a target or a run."""
    if (search := search_of(stands)) is not None:
        return search.posterior
    axis, target = stands.axis, stands.target
    if axis is None or target is None:
        return None
    return border_of(evidence.trials(outcomes), axis, target)


def _points(
    judged: Sequence[Judged], qos: Qos | None, max_rps: float | None, said: Posterior | None
) -> tuple[LoadPoint, ...]:
    """The loads of the sweep, ascending."""
    loads: dict[float, list[Judged]] = defaultdict(list)
    for j in judged:
        loads[j.run.fraction or j.run.offered_rps].append(j)
    return tuple(load_point.gather(loads[load], qos, max_rps, said) for load in sorted(loads))


def _curves(
    judged: Sequence[Judged], qos: Qos | None, q: float
) -> tuple[tuple[Line, ...], Interval | None]:
    """LOWESS of the mean and of the decisive quantile, and where the latter crosses the bound."""
    dots = [j.run for j in judged if j.is_believed and j.run.fraction is not None]
    load = np.array([run.fraction for run in dots], float)
    tail = np.array([dict(run.quantiles).get(q) for run in dots], float)
    mean = np.array([run.mean_ns for run in dots], float)
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
            found = lowess.crossing(curve, qos.bound_ns)
            crossing = None if found.at is None or found.is_open else found.interval
    return tuple(lines), crossing


def _peaks(axis: Axis | None) -> Interval | None:
    """The least and the greatest peak; None of a single run, which says nothing of its spread."""
    return Interval(lo=axis.lo_rps, hi=axis.hi_rps) if axis and axis.runs > 1 else None


def _verdict(
    stands: Progress, points: Sequence[LoadPoint], found: MaxLoad | None
) -> tuple[Verdict, tuple[str, ...]]:
    """Whether the question was answered; `violated` if no load at all meets the target."""
    reasons = list(stands.reasons)
    if stands.axis is None:
        return Verdict.UNKNOWN, tuple(reasons)
    if not stands.axis.is_valid:
        reasons.append("no run of the load axis can be believed: 100 % is only a name")
        reasons += stands.axis.reasons
    if stands.next is not None:
        reasons.append("the study was not finished: run it again, it resumes")
    unknown = [p for p in points if p.verdict is Verdict.UNKNOWN]
    for what, kind in (("not believed", False), ("undecided", True)):
        loads = ", ".join(load_share(p.fraction) for p in unknown if p.is_believed is kind)
        if loads:
            reasons.append(f"{what} at {loads} load")
    if found is not None:
        return found.verdict, tuple(dict.fromkeys((*reasons, *found.reasons)))
    if not points or len(unknown) == len(points):
        return Verdict.UNKNOWN, tuple(reasons)
    if not stands.axis.is_valid or stands.next is not None:
        return Verdict.UNKNOWN, tuple(reasons)
    border = answer.bracket(points)
    if border.holds is None:
        return Verdict.VIOLATED, tuple(reasons)
    above = [p for p in points if p.offered_rps > border.holds.offered_rps]
    is_seen = stands.target is None or border.violated is not None or not above
    return (Verdict.HOLDS if is_seen else Verdict.UNKNOWN), tuple(reasons)
