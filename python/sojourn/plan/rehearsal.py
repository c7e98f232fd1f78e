"""Plays a study through with an imagined service: what `sojourn plan` shows before anything ran.

The imagined service is an M/M/1 queue whose capacity is the measured peak, or a guess before there
is one. Only the number and the length of points are taken from it, never a result; tests drive the
whole plan with it, with noise of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from sojourn.plan import design
from sojourn.plan.failures import is_failed
from sojourn.plan.next import Planner
from sojourn.plan.points import Outcome, Point, Verdict
from sojourn.plan.questions import Questions
from sojourn.plan.setting import Setting
from sojourn.plan.time_budget import AROUND_S, RESTART_S
from sojourn.spec import Study

CAPACITY_RPS = 100_000.0
POINTS_MAX = 5_000
LEFT_LEAST = 0.05  # of a capacity, beside others that would use all of it
PIECES_MAX = 1_000  # of one imagined run's misses
RUNS_ALREADY = "external"  # the kind of service that the lab does not start


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What is still to come, if all goes well.

    Attributes:
        points: in order; loads are imagined where they depend on results.
        wall_s: time they take together, s.
        measure_s: of that, measuring.
        walls_s: of each point, restart included, s; together `wall_s`.
        shortfalls: what the time allowed cannot answer, and how much would.
        is_cut: there are more; these are the first `POINTS_MAX` or so, and the times a lower bound.
    """

    points: tuple[Point, ...]
    wall_s: float
    measure_s: float
    walls_s: tuple[float, ...] = ()
    shortfalls: tuple[str, ...] = ()
    is_cut: bool = False


def rehearse(study: Study, questions: Questions, outcomes: Sequence[Outcome] = ()) -> Rehearsal:
    """Go on from `outcomes` with the imagined service until the study is complete."""
    played = list(outcomes)
    points: list[Point] = []
    walls_s: list[float] = []
    around_s, restart_s = _overheads(outcomes)
    shields = {service.label: _shield(study, service.kind) for service in study.services}
    planner, capacities = Planner(study, questions), _capacities(study, outcomes)
    while (point := planner.next(played)) and len(points) < POINTS_MAX:
        for one in _represented_points(planner, questions, point, around_s + restart_s):
            before = played[-1].point.life if played else ""
            more_s = around_s + (0.0 if one.life == before else restart_s)
            took_s = one.measure_s + one.warmup_s + more_s + _beside_s(one, questions)
            for member, capacity_rps in _shared(study, one.all, capacities):
                outcome = imagine(member, capacity_rps=capacity_rps)
                played.append(
                    replace(_in_pieces(outcome), wall_s=took_s, shield=shields[member.service])
                )
            points.append(one)
            walls_s.append(took_s)
    measure_s = sum(point.measure_s for point in points)
    return Rehearsal(
        points=tuple(points),
        wall_s=sum(walls_s),
        measure_s=measure_s,
        walls_s=tuple(walls_s),
        shortfalls=tuple(_shortfalls(study, [*(o.point for o in outcomes), *points], questions)),
        is_cut=point is not None,
    )


def _shield(study: Study, kind: str) -> str:
    """The shield that runs of this kind of service get; what runs already gets none (M32)."""
    return "none" if study.run.shield == "none" or kind == RUNS_ALREADY else "priority"


def _in_pieces(outcome: Outcome) -> Outcome:
    """Misses in few clusters: two minutes near capacity have a million, each looked at again."""
    return replace(outcome, correlation=max(1.0, (outcome.over_bound or 0) / PIECES_MAX))


def _represented_points(
    planner: Planner, questions: Questions, point: Point, fresh_s: float
) -> Sequence[Point]:
    """The points that its question counts for one."""
    question = questions.of_phase(point.phase)
    if question is None or question.is_of_all:
        return [point]
    own = planner.group(point)
    return question.rehearsed(own.study, point, own.outcomes, fresh_s)


def _beside_s(point: Point, questions: Questions) -> float:
    question = questions.of_phase(point.phase)
    return 0.0 if question is None else question.beside_s(point)


def _shortfalls(study: Study, points: Sequence[Point], questions: Questions) -> Iterator[str]:
    """What cannot be answered, whatever the points will show."""
    for label, levels, under in design.studies(study):
        own = [p for p in points if p.service == label and design.levels_of(study, p) == levels]
        service = under.service(label)
        for question in questions.asked(under, service):
            for text in question.shortfalls(under, service, own):
                yield f"{text} (under {levels.text})" if levels else text


def _overheads(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """Time around a point and time of a restart, s: as they were so far, else as is usual.

    A point of which nothing was measured ended early, and after it the service starts anew.
    """
    values: list[float] = []
    fresh: list[float] = []
    life = ""
    for outcome in outcomes:
        point = outcome.point
        if is_failed(outcome):
            life = ""
            continue
        more_s = outcome.wall_s - point.measure_s - point.warmup_s
        (values if point.life == life else fresh).append(more_s)
        life = point.life
    around_s = max(0.0, median(values)) if values else AROUND_S
    return around_s, max(0.0, median(fresh) - around_s) if fresh else RESTART_S


def imagine(
    point: Point,
    *,
    capacity_rps: float = CAPACITY_RPS,
    last_life: str = "",
    bound_ns: float | None = None,
) -> Outcome:
    """What an M/M/1 queue of that capacity would make of `point`.

    Without `bound_ns` the bound is taken from the point's own overrides.
    """
    offered = point.offered_rps or 0.0
    bound = bound_ns if bound_ns is not None else _bound(point)
    rho = offered / capacity_rps
    is_closed = point.offered_rps is None
    achieved = capacity_rps if is_closed else min(offered, capacity_rps)
    requests = round((achieved if is_closed else offered) * point.measure_s)
    # Above capacity the backlog grows all the time; nearly every request is late.
    mean_ns = 1e9 / (capacity_rps - offered) if rho < 1 else point.measure_s * 1e9 / 2
    share_over = 0.0 if bound is None else math.exp(-bound / mean_ns)
    wall_s = point.measure_s + point.warmup_s + AROUND_S
    return Outcome(
        point=point,
        verdict=Verdict.HOLDS,
        reasons=(),
        offered_rps=offered,
        achieved_rps=achieved,
        requests=requests,
        over_bound=None if bound is None else round(requests * share_over),
        lost=0,
        mean_ns=mean_ns,
        p50_ns=mean_ns * math.log(2),
        p95_ns=mean_ns * math.log(20),
        p99_ns=mean_ns * math.log(100),
        correlation=1.0,
        wall_s=wall_s + (0.0 if point.life == last_life else RESTART_S),
        folder="",
    )


def _bound(point: Point) -> float | None:
    text = dict(point.overrides).get("qos_bound")
    return None if text is None else float(str(text).removesuffix("ns"))


def _capacities(study: Study, outcomes: Sequence[Outcome]) -> dict[tuple[str, Setting], float]:
    """The last closed-loop peak that was measured, by service and the levels that it feels."""
    return {
        (o.point.service, design.own_levels(study, o.point)): o.achieved_rps
        for o in outcomes
        if o.point.offered_rps is None and o.achieved_rps > 0
    }


def _shared(
    study: Study, members: Sequence[Point], known: Mapping[tuple[str, Setting], float]
) -> Iterator[tuple[Point, float]]:
    """Points of one measurement, each with what the loads of the others leave of its capacity.

    With all of it each service would satisfy its target under every pair of loads, so too few runs
    would be foreseen for a matrix.
    """
    whole = [_capacity(study, one, known) for one in members]
    used = [(one.offered_rps or 0.0) / most for one, most in zip(members, whole, strict=True)]
    for one, most, own in zip(members, whole, used, strict=True):
        yield one, most * max(LEFT_LEAST, 1 - (sum(used) - own))


def _capacity(study: Study, point: Point, known: Mapping[tuple[str, Setting], float]) -> float:
    """That of a point, or a guess; who needs more time for as many requests has fewer."""
    guess = CAPACITY_RPS / study.service(point.service).stretch
    return known.get((point.service, design.own_levels(study, point)), guess)
