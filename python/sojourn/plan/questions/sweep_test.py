"""Latency against load: every load once a block, repeated only where it was not believed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.plan import Axis, Outcome, Phase, Point, Target, Verdict
from sojourn.plan.questions import sweep
from sojourn.plan.rehearse import imagine
from sojourn.plan.simulated import play, study
from sojourn.spec import MaxRps, QosRule

OF = study("run.fractions=[0.2, 0.5, 0.8]", "run.repeats=3", "run.retries=2",
           'services.memcached.measure=["sweep"]')  # fmt: skip
SERVICE = OF.service("memcached")
AXIS = Axis(rps=1e5, lo_rps=1e5, hi_rps=1e5, rule=MaxRps.ACHIEVED_PEAK, runs=1, is_valid=True)
TARGET = Target(q=0.99, bound_ns=2e6, rule=QosRule.GIVEN)


def run(*, lost: float = 0.0, is_late: bool = False) -> list[Point]:
    """All runs, if those at the share `lost` can never be believed."""
    outcomes: list[Outcome] = []
    while point := sweep.next_run(OF, SERVICE, outcomes, AXIS, TARGET, is_late=is_late):
        verdict = Verdict.UNKNOWN if point.fraction == lost else Verdict.HOLDS
        outcomes.append(replace(imagine(point), verdict=verdict))
        assert len(outcomes) < 50
    return [o.point for o in outcomes]


def test_a_block_holds_every_load_once_in_the_order_of_its_seed() -> None:
    points = run()
    assert len(points) == 9
    for block in range(3):
        mine = [p for p in points if p.repeat == block]
        assert tuple(p.fraction for p in mine) == sweep.order(OF, f"memcached/sweep/b{block}")
        assert mine == points[3 * block : 3 * block + 3]
    for point in points:
        assert point.offered_rps == pytest.approx(1e5 * (point.fraction or 0))
        assert point.overrides == TARGET.overrides
        assert (point.phase, point.measure_s) == (Phase.SWEEP, OF.run.measure_s)
    assert len({p.key for p in points}) == 9
    bare = sweep.next_run(OF, SERVICE, [], AXIS, None, is_late=False)
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
    made = [o.point for o in play(of, imagine) if o.point.phase is Phase.SWEEP]
    found = sorted((p.repeat, p.setting["load"]) for p in made)
    assert found == [(block, load) for block in (0, 1) for load in (0.125, 0.901, 0.904)]
    assert len({p.offered_rps for p in made}) == 3
    assert len({p.key for p in made}) == len({p.seed for p in made}) == len(made) == 6


def test_a_late_sweep_repeats_nothing() -> None:
    assert run(lost=0.5, is_late=True) == run()
