"""The imagined service is M/M/1, and the time that is foreseen is the sum of its parts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import spec
from sojourn.errors import RunFault
from sojourn.plan import Outcome, Phase, Point, evidence
from sojourn.plan.failures import measured_nothing
from sojourn.plan.next import Planner
from sojourn.plan.points import Misses
from sojourn.plan.rehearsal import (
    PIECES_MAX,
    RUNS_ALREADY,
    _represented_points,
    imagine,
    rehearse,
)
from sojourn.plan.simulated import play, study
from sojourn.plan.time_budget import AROUND_S, RESTART_S
from sojourn.spec import Study
from sojourn.testing_questions import PLANS

POINT = Point(
    key="s/sweep/b0/f0.50",
    service="memcached",
    phase=Phase.SWEEP,
    offered_rps=50_000.0,
    fraction=0.5,
    measure_s=2.0,
    warmup_s=0.5,
    seed=1,
)


def test_the_imagined_queue_has_the_times_of_mm1() -> None:
    """T ~ Exp(μ − λ): mean 1/(μ − λ) and quantiles −ln(1 − q) of it."""
    outcome = imagine(POINT, capacity_rps=100_000.0, bound_ns=40e3)
    assert outcome.mean_ns == pytest.approx(20e3)
    assert outcome.p50_ns == pytest.approx(-20e3 * math.log(0.5))
    assert outcome.p95_ns == pytest.approx(-20e3 * math.log(0.05))
    assert outcome.p99_ns == pytest.approx(-20e3 * math.log(0.01))
    assert (outcome.offered_rps, outcome.achieved_rps, outcome.requests) == (50e3, 50e3, 100_000)
    assert outcome.over_bound == round(100_000 * math.exp(-2))
    assert imagine(POINT).over_bound is None
    report = replace(POINT, overrides=(("qos_bound", "40000ns"),))
    assert imagine(report, capacity_rps=100_000.0).over_bound == outcome.over_bound


def test_above_its_capacity_the_backlog_grows_over_the_run() -> None:
    over = imagine(replace(POINT, offered_rps=200_000.0), capacity_rps=100_000.0, bound_ns=1e6)
    assert (over.achieved_rps, over.requests) == (100_000, 400_000)
    assert over.mean_ns == 1e9  # half of the run
    assert over.over_bound is not None
    assert over.over_bound > 0.99 * over.requests
    closed = imagine(replace(POINT, offered_rps=None), capacity_rps=100_000.0)
    assert (closed.offered_rps, closed.achieved_rps, closed.requests) == (0, 100_000, 200_000)


def test_a_new_life_costs_a_restart() -> None:
    fresh, outcome = imagine(POINT), imagine(POINT, last_life=POINT.life)
    assert outcome.wall_s == pytest.approx(2.5 + AROUND_S)
    assert fresh.wall_s == pytest.approx(2.5 + AROUND_S + RESTART_S)


def test_what_is_still_to_come_is_the_sum_of_its_points() -> None:
    of = study('services.memcached.measure=["sweep"]')
    ahead = rehearse(of, PLANS)
    assert ahead.measure_s == pytest.approx(sum(p.measure_s for p in ahead.points))
    lives = 1 + sum(a.life != b.life for a, b in itertools.pairwise(ahead.points))
    wanted = sum(p.measure_s + p.warmup_s + AROUND_S for p in ahead.points) + lives * RESTART_S
    assert ahead.wall_s == pytest.approx(wanted)


def test_times_around_a_point_are_those_that_were_seen() -> None:
    """3 s around each point and 4 s more for each start of the service."""
    of = study('services.memcached.measure=["sweep"]')
    life = ""

    def slow(point: Point) -> Outcome:
        nonlocal life
        extra_s = 3.0 + (4.0 if point.life != life else 0.0)
        life = point.life
        return replace(imagine(point), wall_s=point.measure_s + point.warmup_s + extra_s)

    done = play(of, slow, PLANS, stop_after=20)
    ahead = rehearse(of, PLANS, done)
    lives = [done[-1].point.life, *(p.life for p in ahead.points)]
    starts = sum(a != b for a, b in itertools.pairwise(lives))
    assert starts
    wanted = sum(p.measure_s + p.warmup_s + 3.0 for p in ahead.points) + 4.0 * starts
    assert ahead.wall_s == pytest.approx(wanted)


def test_a_service_that_did_not_start_makes_no_point_of_what_is_to_come_shorter() -> None:
    of, outcomes = study(profile="quick"), list[Outcome]()
    for _ in range(2):
        point = Planner(of, PLANS).next(outcomes)
        assert point is not None
        failed = measured_nothing(point, Path("x"), RunFault("it died", at="x", fix="see its log"))
        outcomes.append(replace(failed, wall_s=0.5))
    left = rehearse(of, PLANS, outcomes)
    for one, wall_s in zip(left.points, left.walls_s, strict=True):
        assert wall_s >= one.warmup_s + one.measure_s + AROUND_S - 1e-9
    assert len(left.points) == len(rehearse(of, PLANS).points)


def test_loads_that_are_imagined_follow_the_peak_that_was_measured() -> None:
    of = study('services.memcached.measure=["sweep"]')
    peaks = play(
        of, lambda p: imagine(p, capacity_rps=7_000.0), PLANS, stop_after=of.run.peak_repeats
    )
    ahead = rehearse(of, PLANS, peaks)
    assert {p.phase for p in ahead.points} == {Phase.SWEEP}
    for point in ahead.points:
        assert point.offered_rps == pytest.approx(7_000 * (point.fraction or 0), rel=1e-3)


def test_what_runs_already_has_no_shield_and_so_no_runs_without_it() -> None:
    sets = ["run.repeats=1", "run.fractions=[0.5]"]
    ours = study(*sets, profile="quick")
    assert Phase.SCHEDULED in {point.phase for point in rehearse(ours, PLANS).points}
    service = ours.services[0]
    theirs = service.model_copy(update={"kind": RUNS_ALREADY})
    foreign = ours.model_copy(update={"services": (theirs,)})
    phases = {point.phase for point in rehearse(foreign, PLANS).points}
    assert Phase.CONFIRM in phases
    assert Phase.SCHEDULED not in phases


def test_a_probe_represents_those_that_its_search_still_has_the_time_for() -> None:
    """40 s at 4 s a probe are ten; three that took 4 s each are made: seven are left."""
    of = study("run.search.budget_s=40")
    probe = replace(POINT, key="s/search/p03", phase=Phase.SEARCH, repeat=3)
    made = [replace(imagine(replace(probe, repeat=n)), wall_s=4.0) for n in range(3)]
    other = replace(imagine(POINT), wall_s=99.0)  # no probe
    points = _represented_by(of, probe, [*made, other])
    assert [p.key for p in points] == [f"memcached/search/b{n}" for n in range(3, 10)]
    assert [p.repeat for p in points] == list(range(3, 10))
    assert len(_represented_by(of, probe, [replace(made[0], wall_s=500.0)])) == 1
    assert _represented_by(of, POINT, made) == [POINT]


def _represented_by(of: Study, point: Point, made: Sequence[Outcome]) -> Sequence[Point]:
    planner = Planner(of, PLANS)
    planner.next(made)
    return _represented_points(planner, PLANS, point, 1.5)


def test_a_long_run_s_misses_come_in_few_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two minutes near capacity miss many thousand times; the plan looks at each cluster."""
    sets = ["run.repeats=1", "run.fractions=[0.5, 0.95, 1.0]"]
    asked = spec.load("latency_vs_load", profile="full", overrides=sets)
    sizes: list[int] = []
    trial = evidence._trial

    def counted(outcome: Outcome, seen: Misses) -> evidence.Trial:
        result = trial(outcome, seen)
        sizes.append(len(result.clusters))
        return result

    monkeypatch.setattr(evidence, "_trial", counted)
    assert rehearse(asked, PLANS).points
    assert max(sizes) == PIECES_MAX


def test_a_plan_that_is_cut_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = spec.load("max_load_memcached", profile="quick")
    whole = rehearse(asked, PLANS)
    assert not whole.is_cut
    monkeypatch.setitem(rehearse.__globals__, "POINTS_MAX", 5)
    assert rehearse(asked, PLANS).is_cut
    monkeypatch.setitem(rehearse.__globals__, "POINTS_MAX", len(whole.points))
    assert not rehearse(asked, PLANS).is_cut
