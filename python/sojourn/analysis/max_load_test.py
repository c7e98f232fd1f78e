"""The answer in numbers: what the posterior says, what the machine adds, what would settle it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sojourn.analysis import max_load
from sojourn.analysis.findings import MaxLoad, Qos
from sojourn.analysis.given import Given, Measured
from sojourn.analysis.served import QUEUES, Served
from sojourn.plan import Outcome, Phase, Point, Verdict, progress
from sojourn.plan.points import Misses
from sojourn.plan.rehearse import imagine
from sojourn.plan.simulated import play, study
from sojourn.spec import Study

QOS = Qos(q=0.99, bound_ns=1e6, rule="given")


def judged(of: Study, outcomes: list[Outcome], *culprits: str) -> MaxLoad:
    measured = tuple(
        Measured(outcome=o, culprits=culprits if o.point.phase is Phase.SCHEDULED else ())
        for o in outcomes
    )
    given = Given(study=of, measured=measured)
    found = max_load.judge(given, measured, progress(of, of.services[0], outcomes), QOS)
    assert found is not None
    return found


def quick(*sets: str) -> Study:
    return study(*sets, profile="quick")


@pytest.fixture(name="stalls", scope="module")
def _stalls() -> tuple[Study, list[Outcome]]:
    of = quick('services.memcached.measure=["sweep", "max_load"]')
    return of, play(of, Served(queue=QUEUES[2]).measure)


def test_the_numbers_are_the_posterior_s(stalls: tuple[Study, list[Outcome]]) -> None:
    of, outcomes = stalls
    found = judged(of, outcomes).border
    search = progress(of, of.services[0], outcomes).search
    assert found
    assert search
    assert (found.interval_rps.lo, found.interval_rps.hi) == search.interval_rps
    assert found.estimate_rps == search.estimate_rps
    assert found.runs == len(search.trials)
    assert found.measured_s == sum(o.point.measure_s for o in outcomes if o.over_bound is not None)


def test_a_wide_interval_names_the_command_that_would_narrow_it(
    stalls: tuple[Study, list[Outcome]],
) -> None:
    of, outcomes = stalls
    found = judged(of, outcomes)
    assert found.settle
    assert found.settle.command.startswith("sojourn run max_load_memcached --profile quick --set ")
    assert found.settle.seconds > sum(o.wall_s for o in outcomes)


def test_windows_that_the_log_marks_are_left_out_of_the_second_answer(
    stalls: tuple[Study, list[Outcome]],
) -> None:
    of, outcomes = stalls
    assert judged(of, outcomes).undisturbed is None
    calm = [
        replace(o, undisturbed=Misses(requests=o.requests, over=0))
        if o.over_bound and o.over_bound < 0.1 * o.requests
        else o
        for o in outcomes
    ]
    found = judged(of, calm)
    assert found.border
    assert found.undisturbed
    assert found.undisturbed.estimate_rps > 1.2 * found.border.estimate_rps


def late(point: Point) -> Outcome:
    """Everything misses."""
    outcome = imagine(point)
    missed = None if outcome.over_bound is None else outcome.requests
    return replace(outcome, over_bound=missed)


def prompt(point: Point) -> Outcome:
    """Nothing misses."""
    outcome = imagine(point)
    return outcome if outcome.over_bound is None else replace(outcome, over_bound=0)


def test_where_every_load_misses_the_target_is_violated() -> None:
    of = quick()
    found = judged(of, play(of, late))
    assert found.verdict is Verdict.VIOLATED
    assert found.border
    assert found.border.interval_rps.hi == 0


def test_where_nothing_misses_the_answer_is_at_least() -> None:
    of = quick()
    found = judged(of, play(of, prompt))
    assert found.verdict is Verdict.UNKNOWN
    assert "nothing up to" in found.reasons[0]
    assert found.border
    assert found.border.interval_rps.lo > 0
    assert math.isinf(found.border.interval_rps.hi)


def test_what_cannot_be_believed_leaves_no_number_but_its_reason() -> None:
    of = quick()

    def lost(point: Point) -> Outcome:
        return replace(imagine(point), verdict=Verdict.UNKNOWN, reasons=("client stopped",))

    found = judged(of, play(of, lost))
    assert (found.verdict, found.border) == (Verdict.UNKNOWN, None)
    assert found.reasons == ("no run can be believed", "client stopped")


def test_runs_with_the_shield_and_without_are_held_side_by_side() -> None:
    of = quick()

    def measure(point: Point) -> Outcome:
        bare = point.phase is Phase.SCHEDULED
        outcome = imagine(point, capacity_rps=60_000 if bare else 100_000)
        return replace(outcome, shield="none" if bare else "priority")

    found = judged(of, play(of, measure), "kdamond.0")
    assert found.shield == "priority"
    assert found.border
    assert found.scheduled
    assert found.scheduled.border
    assert found.scheduled.border.estimate_rps < found.border.estimate_rps / 1.2
    assert found.scheduled.culprits == ("kdamond.0",)
    assert found.scheduled.quantile_ns
    assert found.scheduled.quantile_ns[0] < found.scheduled.quantile_ns[1]


def test_stalls_rarer_than_a_third_of_the_time_near_the_border_cannot_be_excluded(
    stalls: tuple[Study, list[Outcome]],
) -> None:
    of, outcomes = stalls
    found = judged(of, outcomes)
    assert found.stall_s
    assert found.border
    near = [
        o.point.measure_s
        for o in outcomes
        if o.over_bound is not None
        and 1 / 1.15 <= o.offered_rps / found.border.estimate_rps <= 1.15
    ]
    assert found.stall_s == sum(near) / 3
