"""Latency against load: every load once a block, repeated only where it was not believed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.plan import Axis, Outcome, Phase, Point, Target, Verdict, next_point
from sojourn.plan.points import Course
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import play, study
from sojourn.questions import PLANS
from sojourn.questions.sweep import plan
from sojourn.spec import MaxRps, QosRule

OF = study(
    "run.fractions=[0.2, 0.5, 0.8]",
    "run.repeats=3",
    "run.retries=2",
    'services.memcached.measure=["sweep"]',
)
SERVICE = OF.service("memcached")
AXIS = Axis(rps=1e5, lo_rps=1e5, hi_rps=1e5, rule=MaxRps.ACHIEVED_PEAK, runs=1, is_valid=True)
TARGET = Target(q=0.99, bound_ns=2e6, rule=QosRule.GIVEN)


def run(*, lost: float = 0.0, is_late: bool = False) -> list[Point]:
    """All runs, if those at the share `lost` can never be believed."""
    outcomes: list[Outcome] = []
    while point := plan.next_run(OF, SERVICE, outcomes, AXIS, TARGET, is_late=is_late):
        verdict = Verdict.UNKNOWN if point.fraction == lost else Verdict.HOLDS
        outcomes.append(replace(imagine(point), verdict=verdict))
        assert len(outcomes) < 50
    return [o.point for o in outcomes]


def test_a_block_holds_every_load_once_in_the_order_of_its_seed() -> None:
    points = run()
    assert len(points) == 9
    for block in range(3):
        own = [p for p in points if p.repeat == block]
        assert tuple(p.setting for p in own) == plan.order(OF, f"memcached/sweep/b{block}")
        assert own == points[3 * block : 3 * block + 3]
    for point in points:
        assert point.offered_rps == pytest.approx(1e5 * (point.fraction or 0))
        assert point.overrides == TARGET.overrides
        assert (point.phase, point.measure_s) == (Phase.SWEEP, OF.run.measure_s)
    assert len({p.key for p in points}) == 9
    bare = plan.next_run(OF, SERVICE, [], AXIS, None, is_late=False)
    assert bare is not None
    assert bare.overrides == ()


def test_a_load_is_repeated_at_the_end_of_its_block_as_often_as_the_study_says() -> None:
    points = run(lost=0.5)
    assert len(points) == 9 + 3 * 2
    keys = [p.key for p in points if p.repeat == 0]
    assert keys[3:] == ["memcached/sweep/b0/load=0.5~1", "memcached/sweep/b0/load=0.5~2"]


def test_loads_that_differ_by_little_are_points_of_their_own() -> None:
    of = study(
        "run.fractions=[0.901, 0.904, 0.125]",
        "run.repeats=2",
        'services.memcached.measure=["sweep"]',
    )
    made = [o.point for o in play(of, imagine, PLANS) if o.point.phase is Phase.SWEEP]
    results = sorted((p.repeat, p.setting["load"]) for p in made)
    assert results == [(block, load) for block in (0, 1) for load in (0.125, 0.901, 0.904)]
    assert len({p.offered_rps for p in made}) == 3
    assert len({p.key for p in made}) == len({p.seed for p in made}) == len(made) == 6


def test_a_late_sweep_repeats_nothing() -> None:
    assert run(lost=0.5, is_late=True) == run()
    assert courses(Course.MOVES, is_late=True) == [(1, 1)] * 3


def courses(*each: Course, blocks: int = 3, is_late: bool = False) -> list[tuple[float, float]]:
    """How many times as long warm-up and run at half load were, in order, if they went like this.

    The last course is that of all runs after it.
    """
    of = study(
        "run.fractions=[0.2, 0.5, 0.8]",
        f"run.repeats={blocks}",
        "run.retries=2",
        'services.memcached.measure=["sweep"]',
    )
    outcomes: list[Outcome] = []
    while point := plan.next_run(of, SERVICE, outcomes, AXIS, TARGET, is_late=is_late):
        half = sum(o.point.fraction == 0.5 for o in outcomes)
        course = each[min(half, len(each) - 1)] if point.fraction == 0.5 else Course.STEADY
        outcomes.append(replace(imagine(point), course=course))
        assert len(outcomes) < 50
    halves = [o.point for o in outcomes if o.point.fraction == 0.5]
    assert len({p.key for p in halves}) == len({p.seed for p in halves}) == len(halves)
    run = of.run
    return [(p.warmup_s / run.warmup_s, p.measure_s / run.measure_s) for p in halves]


def test_after_a_cold_start_the_warm_up_is_doubled_at_most_twice() -> None:
    assert courses(Course.COLD, blocks=1) == [(1, 1), (2, 1), (4, 1)]
    assert courses(Course.COLD, Course.STEADY, blocks=1) == [(1, 1), (2, 1)]


def test_a_run_that_moved_is_made_again_twice_as_long_at_most_twice() -> None:
    assert courses(Course.MOVES, blocks=1) == [(1, 1), (2, 2), (4, 4)]
    assert courses(Course.COLD, Course.MOVES, blocks=1) == [(1, 1), (2, 1), (4, 2)]
    assert courses(Course.STEADY, Course.MOVES, Course.STEADY) == [(1, 1), (1, 1), (2, 2), (1, 1)]


def test_a_queue_that_grew_twice_is_an_answer_and_other_blocks_are_waited_for() -> None:
    assert courses(Course.GROWS, blocks=1) == [(1, 1), (2, 2)]
    assert courses(Course.GROWS) == [(1, 1)] * 3
    assert courses(Course.GROWS, Course.STEADY) == [(1, 1)] * 3, "others have numbers"
    last = courses(Course.STEADY, Course.STEADY, Course.GROWS, Course.STEADY)
    assert last == [(1, 1), (1, 1), (1, 1), (2, 2)]


def test_the_plan_is_the_same_after_the_outcomes_were_read_back() -> None:
    """Every beginning of a plan, asked of a planner that has seen nothing before."""
    of = study(
        "run.fractions=[0.2, 0.5, 0.8]", "run.repeats=3", 'services.memcached.measure=["sweep"]'
    )
    each = [Course.COLD, Course.MOVES, Course.STEADY, Course.GROWS]

    def went(point: Point) -> Outcome:
        return replace(imagine(point), course=each[point.seed % 4])

    played = play(of, went, PLANS)
    assert any(o.point.measure_s > of.run.measure_s for o in played)
    for count, outcome in enumerate(played):
        assert next_point(of, played[:count], PLANS) == outcome.point


def twins(seed: int, blocks: int = 1) -> list[list[Point]]:
    """By block, in order: the points of the load that is measured twice."""
    of = study(
        "aa=true",
        f"seed={seed}",
        f"run.repeats={blocks}",
        "run.fractions=[0.2, 0.5, 0.8]",
        'services.memcached.measure=["sweep"]',
    )
    points: list[Point] = []
    while point := plan.next_run(
        of, SERVICE, [imagine(p) for p in points], AXIS, TARGET, is_late=False
    ):
        points.append(point)
    by_block = [[p for p in points if p.repeat == block] for block in range(blocks)]
    assert [len(block) for block in by_block] == [4] * blocks
    loads = [next(p.fraction for p in block if "twin" in p.setting) for block in by_block]
    return [
        [p for p in block if p.fraction == load]
        for block, load in zip(by_block, loads, strict=True)
    ]


def test_one_load_of_each_block_is_measured_twice_alike_but_for_its_draws() -> None:
    for pair in twins(seed=7, blocks=5):
        one, other = pair
        assert {"twin" in one.setting, "twin" in other.setting} == {True, False}
        for name in ("offered_rps", "measure_s", "warmup_s", "life", "overrides", "fraction"):
            assert getattr(one, name) == getattr(other, name), name
        assert one.seed != other.seed
        assert one.key != other.key


def test_which_of_two_twins_comes_first_is_a_matter_of_chance() -> None:
    pairs = [pair for seed in range(1, 41) for pair in twins(seed, blocks=5)]
    first = sum("twin" in pair[0].setting for pair in pairs)
    assert abs(first - 100) < 3.5 * 50**0.5, f"{first} of 200 times the twin came first"
    drawn = [pair[0].fraction for pair in pairs]
    for load in (0.2, 0.5, 0.8):
        assert abs(drawn.count(load) - 200 / 3) < 3.5 * (200 * 2 / 9) ** 0.5


def test_a_late_sweep_has_no_twins() -> None:
    of = study("aa=true", "run.repeats=1", 'services.memcached.measure=["sweep"]')
    made: list[Outcome] = []
    while point := plan.next_run(of, SERVICE, made, AXIS, TARGET, is_late=True):
        made.append(imagine(point))
    assert len(made) == len(of.run.fractions)
    assert not any("twin" in o.point.setting for o in made)
