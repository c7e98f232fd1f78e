"""The load axis: what 100 % means (M19, D8), and the QoS bound where it is measured (P8, L19).

First comes the closed-loop peak (`sojourn-load --find-max`), once per fresh start of the service;
their median is `achieved_peak` and the point from which the other definitions start. When no run of
the peak passed its self-check the best of them still serves as the scale of the axis, which it only
has to name; the axis is then marked as not valid, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from sojourn.plan import make
from sojourn.plan.points import Cell, Outcome, Phase, Point, Verdict
from sojourn.plan.setting import LOAD, Setting
from sojourn.spec import MaxRps, QosRule, ServiceSpec, Study
from sojourn.units import NS_PER_S

LOST_MAX = 0.01  # of the requests of a closed-loop run
#: A closed loop of seconds varies by as much: an open loop that got a little more says nothing.
ABOVE = 1.05
#: Another closed loop is so many times as long where the first requests outlasted it.
SHORT_TIMES = 4
NO_REPLY = ("protocol:", "connections:", "server lost:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What 100 % load means.

    Attributes:
        rps: requests/s.
        lo_rps, hi_rps: lowest and highest of its runs, or of its rounds.
        rule: the definition in use.
        runs: how many runs or rounds it rests on.
        is_valid: whether they passed their self-checks.
        reasons: why not.
    """

    rps: float
    lo_rps: float
    hi_rps: float
    rule: MaxRps
    runs: int
    is_valid: bool
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The QoS target of a service, its bound known."""

    q: float
    bound_ns: float
    rule: QosRule

    @property
    def overrides(self) -> tuple[tuple[str, str | float], ...]:
        """The keys of the generator's job that carry it."""
        return (("qos_quantile", self.q), ("qos_bound", f"{round(self.bound_ns)}ns"))


def asked(study: Study) -> Axis:
    """The axis of a study whose loads are rates: 100 % is the highest of them."""
    most = max(study.run.rates_rps)
    return Axis(rps=most, lo_rps=most, hi_rps=most, rule=MaxRps.ASKED, runs=0, is_valid=True)


def next_peak(study: Study, service: ServiceSpec, outcomes: Sequence[Outcome]) -> Point | None:
    """The next closed-loop run; None when there are enough."""
    done = make.Tried(outcomes, Phase.PEAK)
    for repeat in range(study.run.peak_repeats):
        cell = Cell(service.label, Phase.PEAK, repeat)  # no load is set: as fast as it goes
        tried = done.at(repeat, cell.setting)
        if len(tried) <= study.run.retries and not any(map(is_valid, tried)):
            return make.point(
                study,
                cell,
                len(tried),
                measure_s=study.run.peak_s * SHORT_TIMES ** sum(map(_is_too_short, tried)),
                overrides=(("find_max", True),),
            )
    return None


def _is_too_short(outcome: Outcome) -> bool:
    """Whether the run was over before its first requests were, although the service answers."""
    is_empty = any(reason.startswith("requests: no request was due") for reason in outcome.reasons)
    return is_empty and not any(reason.startswith(NO_REPLY) for reason in outcome.reasons)


def peak(service: ServiceSpec, outcomes: Sequence[Outcome]) -> Axis | None:
    """The closed-loop peak from the runs so far; None if nothing was answered in any."""
    runs = [
        o
        for o in outcomes
        if o.point.phase is Phase.PEAK
        and o.point.service == service.label
        and o.point.offered_rps is None
        and o.achieved_rps > 0
    ]
    valid = [o for o in runs if is_valid(o)]
    rates = [o.achieved_rps for o in valid or runs]
    if not rates:
        return None
    return Axis(
        rps=make.rounded(median(rates)),
        lo_rps=min(rates),
        hi_rps=max(rates),
        rule=MaxRps.ACHIEVED_PEAK,
        runs=len(rates),
        is_valid=bool(valid),
        reasons=() if valid else (*runs[-1].reasons, *_failed(runs[-1])),
    )


def exceeded(axis: Axis, outcomes: Sequence[Outcome]) -> float | None:
    """The highest rate of a valid open loop, requests/s, if no closed loop came near it (`ABOVE`).

    Then the closed loop was disturbed or short, and max RPS is at least this rate.
    """
    if axis.rule is not MaxRps.ACHIEVED_PEAK:
        return None
    rates = [
        o.achieved_rps
        for o in outcomes
        if o.point.phase in (Phase.SWEEP, Phase.SEARCH)
        and o.point.offered_rps is not None
        and is_valid(o)
    ]
    most = max(rates, default=0.0)
    return most if most > ABOVE * axis.hi_rps else None


def is_valid(outcome: Outcome) -> bool:
    """Whether a run says how fast the server is; another attempt is made at one that does not."""
    return outcome.verdict is not Verdict.UNKNOWN and not _failed(outcome)


def _failed(outcome: Outcome) -> tuple[str, ...]:
    """Why a closed-loop run says little about the server, although the client kept up."""
    share = outcome.lost / max(1, outcome.requests)
    return (f"{share:.0%} of the closed loop's requests failed",) if share > LOST_MAX else ()


def _low_load(outcomes: Sequence[Outcome], setting: Setting) -> Sequence[Outcome]:
    """All attempts at the run at low load from which a QoS bound is derived."""
    return make.Tried(outcomes, Phase.PEAK).at(0, setting)


def next_base(
    study: Study, service: ServiceSpec, outcomes: Sequence[Outcome], top: Axis
) -> Point | None:
    """The run at low load, if the QoS bound has to be measured and is not yet."""
    if service.qos is None or service.qos.rule is QosRule.GIVEN:
        return None
    setting = Setting.of({LOAD: service.qos.at_fraction})
    tried = _low_load(outcomes, setting)
    if not make.is_open(tried, study.run.retries):
        return None
    return make.point(
        study,
        Cell(service.label, Phase.PEAK, 0, setting),
        len(tried),
        measure_s=study.run.measure_s,
        offered_rps=service.qos.at_fraction * top.rps,
        fraction=service.qos.at_fraction,
    )


def target(service: ServiceSpec, outcomes: Sequence[Outcome]) -> Target | None:
    """The QoS target, its bound known; None without one or while it is not measured."""
    qos = service.qos
    if qos is None:
        return None
    if qos.bound_ns is not None:
        return Target(q=qos.q, bound_ns=float(qos.bound_ns), rule=qos.rule)
    tried = _low_load(outcomes, Setting.of({LOAD: qos.at_fraction}))
    valid = [o for o in tried if o.verdict is not Verdict.UNKNOWN]
    measured = _low_load_ns(valid[-1], qos.rule, qos.q) if valid else None
    if measured is None:
        return None
    return Target(q=qos.q, bound_ns=qos.factor * measured, rule=qos.rule)


def is_base(point: Point) -> bool:
    """Whether a point is the run at low load from which a QoS bound is derived."""
    return point.phase is Phase.PEAK and LOAD in point.setting


def service_ns(mean_sojourn_ns: float, rps: float) -> float:
    """Mean service time, ns, of an ideal queue with one server and that mean sojourn time.

    M/M/1 has W = S / (1 - rps S). Where service times vary less there is less queueing than that,
    and what comes out is too short: by a tenth at 20 % load at the most (M/D/1).

    >>> round(service_ns(125_000.0, 2_000.0))
    100000
    """
    return mean_sojourn_ns / (1 + rps * mean_sojourn_ns / NS_PER_S)


def _low_load_ns(outcome: Outcome, rule: QosRule, q: float) -> float | None:
    if rule is QosRule.SERVICE_TIME:
        mean_ns = outcome.mean_ns
        return None if mean_ns is None else service_ns(mean_ns, outcome.achieved_rps)
    if rule is QosRule.LQOS:
        return outcome.mean_ns  # at a low load: the service time and next to no queueing (P8)
    return {0.5: outcome.p50_ns, 0.95: outcome.p95_ns, 0.99: outcome.p99_ns}[q]
