"""The highest rate without drops, against a server whose capacity is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.plan import Axis, Outcome, Point
from sojourn.plan.drop import no_drop
from sojourn.plan.points import Phase, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import study
from sojourn.spec import MaxRps, Study

CAPACITY = 60_000.0
PEAK = Axis(
    rps=100_000.0, lo_rps=99e3, hi_rps=101e3, rule=MaxRps.ACHIEVED_PEAK, runs=3, is_valid=True
)


def measure(point: Point) -> Outcome:
    """Above its capacity the server completes less than is offered."""
    return imagine(point, capacity_rps=CAPACITY)


def search(
    of: Study, *, wall_s: float = 1.0, lost: bool = False, peak: Axis = PEAK
) -> tuple[list[Point], Axis | None]:
    service = of.service("memcached")
    outcomes: list[Outcome] = []
    while True:
        point, result = no_drop(of, service, outcomes, peak)
        if point is None:
            return [o.point for o in outcomes], result
        outcome = replace(measure(point), wall_s=wall_s)
        outcomes.append(replace(outcome, verdict=Verdict.UNKNOWN) if lost else outcome)
        assert len(outcomes) < 200


def test_the_axis_is_the_rate_that_the_server_just_answers() -> None:
    """Completed within 1 % of offered counts as answered: the border is at capacity / 0.99."""
    of = study("services.memcached.max_rps=no_drop")
    points, result = search(of)
    assert result is not None
    resolution = of.run.search.resolution
    border = CAPACITY / 0.99
    assert result.rps == result.lo_rps
    assert result.lo_rps <= border * 1.001
    assert result.hi_rps >= border * 0.999
    # The hull of three brackets that all hold the border: at most two of them end to end.
    assert result.hi_rps / result.lo_rps <= (1 + resolution) ** 2 * 1.001
    assert (result.rule, result.runs, result.is_valid) == (
        MaxRps.NO_DROP,
        of.run.peak_repeats,
        True,
    )
    assert points[0].offered_rps == 0.8 * PEAK.rps
    assert {p.phase for p in points} == {Phase.PEAK}
    assert {p.measure_s for p in points} == {of.run.peak_s}
    assert {p.repeat for p in points} == set(range(of.run.peak_repeats))
    assert len({p.key for p in points}) == len(points)
    for point in points:
        assert point.fraction == pytest.approx((point.offered_rps or 0) / PEAK.rps, abs=1e-4)


def test_later_rounds_start_at_the_border_of_those_before() -> None:
    of = study("services.memcached.max_rps=no_drop")
    points, _ = search(of)
    second = next(p for p in points if p.repeat == 1)
    assert second.offered_rps == pytest.approx(CAPACITY / 0.99, rel=of.run.search.resolution)


def test_out_of_time_two_rounds_with_any_bracket_are_enough() -> None:
    """With the budget spent after two runs a round ends as soon as pass and fail are known."""
    of = study("services.memcached.max_rps=no_drop", "run.search.budget_s=10")
    points, result = search(of, wall_s=6.0)
    assert len(points) < 8
    assert result is None or result.runs == 2


def test_where_every_rate_is_answered_the_axis_is_the_highest_and_in_doubt() -> None:
    """It was reported that no rate was answered without drops."""
    of = study("services.memcached.max_rps=no_drop")
    points, result = search(of, peak=replace(PEAK, rps=1_000.0))
    assert result is not None
    assert result.rps == max(p.offered_rps or 0 for p in points)
    assert not result.is_valid
    assert "max RPS may be higher" in result.reasons[0]


def test_where_nothing_can_be_believed_there_is_no_axis_and_it_ends() -> None:
    of = study("services.memcached.max_rps=no_drop", "run.search.budget_s=86400")
    points, result = search(of, lost=True)
    assert result is None
    assert {p.repeat for p in points} == {0, 1, 2}  # three rounds in vain are enough
