"""The next point of a study: services in order, and for each its phases in order.

    closed-loop peak → (run at low load for the QoS bound) → (no-drop search)
        → sweep → search → last runs, with the shield and without → the same loads traced

With `max_rps = "qos"` the search comes before the sweep, which needs its result as the axis.
Everything is computed anew from the outcomes each time, so there is no state to lose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.plan import axis as axes
from sojourn.plan import make, traced
from sojourn.plan.axis import Axis, Target
from sojourn.plan.drop import no_drop
from sojourn.plan.points import Outcome, Point
from sojourn.plan.questions import check, sweep
from sojourn.plan.search import Search, search
from sojourn.spec import Goal, MaxRps, ServiceSpec, Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far one service of a study has come: what the plan and the report both need.

    Attributes:
        axis: what 100 % load means; None while it is not known.
        target: the QoS target with its bound; None without one or while it is not measured.
        search: of the highest load; None if not asked for or not begun.
        next: the measurement to make; None when this service is finished.
        reasons: why something that was asked for could not be measured.
    """

    axis: Axis | None = None
    target: Target | None = None
    search: Search | None = None
    next: Point | None = None
    reasons: tuple[str, ...] = ()


def next_point(study: Study, outcomes: Sequence[Outcome]) -> Point | None:
    """The measurement to make after `outcomes`; None when the study is complete.

    Pure, and determined by the study's seed: the same arguments give the same point.
    """
    for service in study.services:
        mine = [o for o in outcomes if o.point.service == service.label]
        if following := progress(study, service, mine).next:
            return following
    return None


def progress(study: Study, service: ServiceSpec, outcomes: Sequence[Outcome]) -> Progress:
    """How far one service has come.

    Args:
        study: the study.
        service: one of its services.
        outcomes: in the order in which they were made; those of other services are ignored.
    """
    mine = [o for o in outcomes if o.point.service == service.label]
    if Goal.CHECK in service.measure:
        return Progress(next=check.next_check(study, service, mine))
    top = axes.peak(service, mine)
    if (point := axes.next_peak(study, service, mine)) or top is None:
        return Progress(axis=top, next=point, reasons=() if point else _because(_NO_PEAK, mine))
    if point := axes.next_base(study, service, mine, top):
        return Progress(axis=top, next=point)
    target = axes.target(service, mine)
    if service.qos and target is None:
        return Progress(axis=top, reasons=_because(_NO_BOUND, mine))
    if service.max_rps is MaxRps.NO_DROP:
        point, found = no_drop(study, service, mine, top)
        if point or found is None:
            reasons = () if point else (_NO_DROP,)
            return Progress(axis=top, target=target, next=point, reasons=reasons)
        top = found
    return _answers(study, service, mine, top, target)


def _answers(
    study: Study,
    service: ServiceSpec,
    mine: Sequence[Outcome],
    top: Axis,
    target: Target | None,
) -> Progress:
    """Sweep and search, in the order that the load axis asks for."""
    left_s = study.run.budget_s - sum(o.wall_s for o in mine)
    is_qos = service.max_rps is MaxRps.QOS
    is_searched = target is not None and Goal.MAX_LOAD in service.measure and not is_qos
    kept_s = study.run.search.budget_s if is_searched else 0.0  # from the sweep's retries
    found = None
    if target and is_qos:
        found = search(study, service, mine, top, target)
        interval = found.interval_rps
        if found.next or found.estimate_rps is None or interval is None or not interval[0]:
            reasons = () if found.next else (_NO_LOAD,)
            return Progress(axis=top, target=target, search=found, next=found.next, reasons=reasons)
        top = Axis(
            rps=make.rounded(found.estimate_rps),
            lo_rps=interval[0],
            hi_rps=min(interval[1], top.rps),
            rule=MaxRps.QOS,
            runs=found.starts,
            is_valid=True,
        )
    if Goal.SWEEP in service.measure and (
        point := sweep.next_run(study, service, mine, top, target, is_late=left_s < kept_s)
    ):
        return Progress(axis=top, target=target, search=found, next=point)
    if target and is_searched:
        found = search(study, service, mine, top, target)
    following = found.next if found else None
    return Progress(
        axis=top,
        target=target,
        search=found,
        next=following or traced.next_run(study, service, mine, top, is_late=left_s < 0),
    )


def _because(what: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """What could not be measured, with the last run's own reason."""
    why = outcomes[-1].reasons if outcomes else ()
    return (f"{what}: {why[0]}",) if why else (what,)


_NO_PEAK = "nothing was answered in any closed-loop run: there is no load axis"
_NO_BOUND = "the run at low load cannot be believed: there is no QoS bound"
_NO_DROP = "no rate was answered without drops: there is no load axis"
_NO_LOAD = "no load meets the QoS target: there is no load axis"
