"""Every measured point as a line of one table, whichever question it was measured for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn.plan import design
from sojourn.plan.points import Outcome, Verdict
from sojourn.plan.setting import TWIN, Level
from sojourn.spec import Study

if TYPE_CHECKING:
    from sojourn.findings.load_point import Run

AA = "twin"  # the second of two equal points of a sweep (M16): it is in no curve


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRow:
    """One point.

    Attributes:
        service: label.
        levels: of the study's factors that the service feels.
        phase: why it was measured; `AA` for the second of two equal points.
        repeat: block, from 0.
        fraction: offered load as a share of max RPS, where the plan knew it.
        p50_ns, p99_ns: None: refused or not measured; infinite where too many were lost.
        verdict, reasons: of the run as it was judged; where it was not, of its self-check.
        is_believed: its self-checks passed.
    """

    key: str
    service: str
    levels: tuple[tuple[str, Level], ...]
    phase: str
    repeat: int
    fraction: float | None
    offered_rps: float
    achieved_rps: float
    p50_ns: float | None
    p99_ns: float | None
    verdict: Verdict
    reasons: tuple[str, ...]
    is_believed: bool = True


def rows(
    study: Study, outcomes: Iterable[Outcome], runs: Mapping[str, Run]
) -> tuple[PointRow, ...]:
    """All points, in the order in which they were measured.

    Args:
        study: with its factors.
        outcomes: of all its points.
        runs: those that were judged, by the keys of their points.
    """
    return tuple(_row(study, outcome, runs.get(outcome.point.key)) for outcome in outcomes)


def _row(study: Study, outcome: Outcome, run: Run | None) -> PointRow:
    point = outcome.point
    judged = (
        dict(run.quantiles)
        if run
        else {0.5: _unjudged_quantile(outcome, 0.5), 0.99: _unjudged_quantile(outcome, 0.99)}
    )
    return PointRow(
        key=point.key,
        service=point.service,
        levels=tuple(design.levels_of(study, point).items()),
        phase=AA if TWIN in point.setting else str(point.phase),
        repeat=point.repeat,
        fraction=point.fraction,
        offered_rps=outcome.offered_rps,
        achieved_rps=outcome.achieved_rps,
        p50_ns=judged.get(0.5),
        p99_ns=judged.get(0.99),
        verdict=run.verdict if run else outcome.verdict,
        reasons=run.reasons if run else outcome.reasons,
        is_believed=run.is_believed if run else outcome.verdict is not Verdict.UNKNOWN,
    )


def _unjudged_quantile(outcome: Outcome, q: float) -> float | None:
    """A quantile of a run that was not judged, ns; infinite where it falls on one that was lost."""
    p99_ns = outcome.p99_ns if q == 0.99 else outcome.p50_ns
    if p99_ns is None and outcome.is_lost(q):
        return math.inf
    return p99_ns
