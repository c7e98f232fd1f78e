"""The whole plan against a simulated service: order, convergence, drift, unknowns, resumption."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sojourn.plan import Outcome, Phase, Point, Verdict, make, next_point, progress
from sojourn.plan.rehearsal import imagine, rehearse
from sojourn.plan.simulated import Simulated, play, search_of, study
from sojourn.spec import Study
from sojourn.testing_questions import PLANS

SWEPT = tuple(f'services.{name}.measure=["sweep"]' for name in ("memcached", "nginx"))


def test_quick_study_of_two_services_measures_less_than_three_minutes() -> None:
    ahead = rehearse(study(name="latency_vs_load", profile="quick"), PLANS)
    assert ahead.measure_s < 120
    assert ahead.wall_s < 180


def test_a_budget_that_cannot_answer_says_so_before_anything_is_measured() -> None:
    assert rehearse(study(name="latency_vs_load", profile="quick"), PLANS).shortfalls == ()
    slow = study("services.memcached.qos.bound=100ms", profile="quick")
    (text,) = rehearse(slow, PLANS).shortfalls
    assert "150 s can" in text  # three excursions of five bounds each fill 1 % of 1500 bounds
    budget = text.rpartition("--set ")[2]
    enough = study("services.memcached.qos.bound=100ms", budget, profile="quick")
    assert rehearse(enough, PLANS).shortfalls == ()


@pytest.mark.parametrize("rule", ["achieved_peak", "no_drop", "qos"])
def test_each_definition_of_max_rps_gives_its_axis(rule: str) -> None:
    of = study(
        f"services.memcached.max_rps={rule}", 'services.memcached.measure=["sweep","max_load"]'
    )
    service = Simulated()
    played = play(of, service.measure, PLANS)
    axis = progress(of, of.service("memcached"), played, PLANS).axis
    assert axis is not None
    assert axis.rule == rule
    expected = service.border_rps(1e6, 0.99) if rule == "qos" else service.capacity_rps
    assert axis.rps == pytest.approx(expected, rel=0.08)
    loads = {o.point.fraction: o.point.offered_rps for o in played if o.point.phase is Phase.SWEEP}
    assert loads[0.5] == pytest.approx(0.5 * axis.rps, rel=1e-3)


def test_an_axis_that_was_searched_lies_between_its_own_ends() -> None:
    """A closed loop that was a third too slow was the upper end of an axis above it."""
    of = study("services.memcached.max_rps=qos", profile="quick")
    service = Simulated()

    def slow_peak(point: Point) -> Outcome:
        result = service.measure(point)
        share = 0.7 if point.offered_rps is None else 1.0
        return replace(result, achieved_rps=share * result.achieved_rps)

    played = play(of, slow_peak, PLANS)
    axis = progress(of, of.service("memcached"), played, PLANS).axis
    assert axis is not None
    assert axis.rps > 0.75 * service.capacity_rps
    assert make.rounded(axis.lo_rps) <= axis.rps <= make.rounded(axis.hi_rps)


@pytest.mark.parametrize(
    ("rule", "factor"), [("lqos", 1.0), ("low_load", 2.9957), ("service_time", 0.8)]
)
def test_a_measured_bound_is_the_multiple_of_the_low_load_time(rule: str, factor: float) -> None:
    of = study(
        "services.memcached.qos.bound=''",
        f"services.memcached.qos.rule={rule}",
        "services.memcached.qos.q=0.95",
        "services.memcached.cores=1",
    )
    played = play(of, Simulated().measure, PLANS)
    target = progress(of, of.service("memcached"), played, PLANS).target
    assert target is not None
    # M/M/1 at 20 %: mean 1 / (0.8 mu), and p95 is ln 20 times that; the service time is 1 / mu.
    assert target.bound_ns == pytest.approx(5 * factor * 1e9 / 80_000, rel=1e-3)
    probe = next(o.point for o in played if o.point.phase is Phase.SEARCH)
    assert dict(probe.overrides)["qos_bound"] == f"{round(target.bound_ns)}ns"


def test_every_fraction_is_measured_once_a_block_in_orders_that_differ() -> None:
    of = study(*SWEPT, name="latency_vs_load")
    sweep = [o.point for o in play(of, Simulated().measure, PLANS) if o.point.phase is Phase.SWEEP]
    blocks = [
        [p.fraction for p in sweep if p.service == "memcached" and p.repeat == block]
        for block in range(of.run.repeats)
    ]
    assert all(sorted(block) == list(of.run.fractions) for block in blocks)  # type: ignore[type-var]
    assert len({tuple(block) for block in blocks}) > 1


def test_unknown_runs_of_a_sweep_are_made_again_at_the_end_of_their_block() -> None:
    of = study(*SWEPT, name="latency_vs_load", profile="quick")
    first = next(o.point for o in play(of, imagine, PLANS) if o.point.phase is Phase.SWEEP)

    def flaky(point: Point) -> Outcome:
        outcome = imagine(point)
        return replace(outcome, verdict=Verdict.UNKNOWN) if point.key == first.key else outcome

    keys = [o.point.key for o in play(of, flaky, PLANS) if o.point.life == first.life]
    assert keys[-1] == f"{first.key}~1"
    assert len(keys) == len(of.run.fractions) + 1


def test_two_services_do_not_see_each_other() -> None:
    of = study(name="latency_vs_load", profile="quick")
    order = [o.point.service for o in play(of, imagine, PLANS)]
    assert order == sorted(order, key=["memcached", "nginx"].index)
    alone = replace_services(of)
    assert [o.point for o in play(alone, imagine, PLANS)] == [
        o.point for o in play(of, imagine, PLANS) if o.point.service == "nginx"
    ]


def replace_services(of: Study) -> Study:
    return of.model_copy(update={"services": of.services[1:]})


def test_time_left_learns_from_what_restarts_took_so_far() -> None:
    of = study('services.memcached.measure=["sweep"]')
    done = play(of, imagine, PLANS, stop_after=15)
    slow = [replace(o, wall_s=o.wall_s + 10) for o in done]
    usual = rehearse(of, PLANS, done)
    assert len(rehearse(of, PLANS, slow).points) == len(usual.points)
    expected = usual.wall_s + 10 * len(usual.points)
    assert rehearse(of, PLANS, slow).wall_s == pytest.approx(expected, abs=10)


def test_a_peak_of_failures_is_a_scale_but_not_a_valid_axis() -> None:
    of = study()

    def misses(point: Point) -> Outcome:
        outcome = imagine(point)
        return replace(outcome, lost=outcome.requests // 2) if not point.offered_rps else outcome

    axis = progress(of, of.service("memcached"), play(of, misses, PLANS), PLANS).axis
    assert axis is not None
    assert not axis.is_valid
    assert "50% of the closed loop's requests failed" in axis.reasons[0]


def test_a_service_that_never_answers_ends_with_its_own_reason() -> None:
    of = study()

    def dead(point: Point) -> Outcome:
        return replace(
            imagine(point), verdict=Verdict.UNKNOWN, reasons=("it died",), achieved_rps=0.0
        )

    played = play(of, dead, PLANS)
    assert len(played) == of.run.peak_repeats * (1 + of.run.retries)
    assert "it died" in progress(of, of.service("memcached"), played, PLANS).reasons[0]


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_a_machine_that_spoils_most_runs_cannot_hold_a_quick_study_up(share: float) -> None:
    of = study(name="latency_vs_load", profile="quick")
    for seed in range(4):
        played = play(of, Simulated(unknown_share=share, correlation=20, seed=seed).measure, PLANS)
        assert sum(o.point.measure_s for o in played) < 180
        for label in ("memcached", "nginx"):
            result = search_of(played, of, PLANS, label)
            assert result.next is None
            assert result.interval_rps is not None or not result.trials


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(1, 2**40),
    capacity=st.floats(500, 2e6),
    restart_sd=st.floats(0, 0.2),
    unknown=st.floats(0, 0.6),
    correlation=st.floats(1, 200),
    cut=st.integers(0, 60),
    rule=st.sampled_from(["achieved_peak", "no_drop", "qos"]),
    goals=st.sampled_from(['["sweep"]', '["max_load"]', '["sweep","max_load"]']),
)
def test_any_study_ends_and_a_resumed_one_ends_the_same(
    *,
    seed: int,
    capacity: float,
    restart_sd: float,
    unknown: float,
    correlation: float,
    cut: int,
    rule: str,
    goals: str,
) -> None:
    of = study(
        f"seed={seed}",
        f"services.memcached.max_rps={rule}",
        f"services.memcached.measure={goals}",
        profile="quick",
    )
    settings_ = {
        "capacity_rps": capacity,
        "restart_sd": restart_sd,
        "unknown_share": unknown,
        "correlation": correlation,
        "seed": seed,
    }
    whole = play(of, Simulated(**settings_).measure, PLANS)  # type: ignore[arg-type]
    assert len(whole) < 300
    assert next_point(of, whole, PLANS) is None
    service = Simulated(**settings_)  # type: ignore[arg-type]
    part = play(of, service.measure, PLANS, stop_after=cut)
    resumed = play(of, service.measure, PLANS, part)
    assert [o.point for o in resumed] == [o.point for o in whole]
    seeds = [o.point.seed for o in whole]
    assert len(set(seeds)) == len(seeds)
