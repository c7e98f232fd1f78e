"""Latency against load: every load once a block, repeated only where it was not believed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.plan import Axis, Outcome, Phase, Point, Target, Verdict
from sojourn.plan.rehearse import imagine
from sojourn.plan.simulated import play, study
from sojourn.questions import PLANS
from sojourn.questions.sweep import plan
from sojourn.spec import MaxRps, QosRule

OF = study("run.fractions=[0.2, 0.5, 0.8]", "run.repeats=3", "run.retries=2",
           'services.memcached.measure=["sweep"]')  # fmt: skip
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
        mine = [p for p in points if p.repeat == block]
        assert tuple(p.setting for p in mine) == plan.order(OF, f"memcached/sweep/b{block}")
        assert mine == points[3 * block : 3 * block + 3]
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
    of = study("run.fractions=[0.901, 0.904, 0.125]", "run.repeats=2",
               'services.memcached.measure=["sweep"]')  # fmt: skip
    made = [o.point for o in play(of, imagine, PLANS) if o.point.phase is Phase.SWEEP]
    found = sorted((p.repeat, p.setting["load"]) for p in made)
    assert found == [(block, load) for block in (0, 1) for load in (0.125, 0.901, 0.904)]
    assert len({p.offered_rps for p in made}) == 3
    assert len({p.key for p in made}) == len({p.seed for p in made}) == len(made) == 6


def test_a_late_sweep_repeats_nothing() -> None:
    assert run(lost=0.5, is_late=True) == run()


def twins(seed: int, blocks: int = 1) -> list[list[Point]]:
    """By block, in order: the points of the load that is measured twice."""
    of = study("aa=true", f"seed={seed}", f"run.repeats={blocks}", "run.fractions=[0.2, 0.5, 0.8]",
               'services.memcached.measure=["sweep"]')  # fmt: skip
    found: list[Point] = []
    while point := plan.next_run(of, SERVICE, [imagine(p) for p in found], AXIS, TARGET,
                                  is_late=False):  # fmt: skip
        found.append(point)
    by_block = [[p for p in found if p.repeat == block] for block in range(blocks)]
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
