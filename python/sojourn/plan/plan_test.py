"""The whole plan against a simulated service: order, convergence, drift, unknowns, resumption."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sojourn import spec
from sojourn.plan import Decision, Outcome, Phase, Point, Verdict, next_point, progress
from sojourn.plan.rehearse import imagine, rehearse
from sojourn.plan.rounds import bracket
from sojourn.plan.simulated import Simulated, play
from sojourn.spec import Study


def study(*sets: str, name: str = "max_load_memcached", profile: str = "standard") -> Study:
    return spec.load(name, profile=profile, overrides=sets)


def search_of(played: list[Outcome], of: Study, label: str = "memcached"):  # type: ignore[no-untyped-def]
    found = progress(of, of.service(label), played).search
    assert found is not None
    return found


def test_search_finds_the_border_of_mm1_within_its_resolution() -> None:
    of, service = study(), Simulated()
    played = play(of, service.measure)
    found = search_of(played, of)
    border = service.border_rps(1e6, 0.99)
    low, high = found.interval_rps
    assert found.verdict is Verdict.HOLDS
    assert low <= border <= high
    assert high / low < (1 + of.run.search.resolution) ** 3
    assert found.confirmation.is_confirmed


@pytest.mark.parametrize("seed", range(5))
def test_two_searches_in_a_row_overlap_although_restarts_differ_and_the_machine_drifts(
    seed: int,
) -> None:
    of = study()
    service = Simulated(restart_sd=0.04, drift=0.5, correlation=20, seed=seed)
    intervals = []
    for run in range(2):
        service.lives.clear()
        service.seed = seed + 100 * run
        found = search_of(play(of, service.measure), of)
        assert found.verdict is Verdict.HOLDS, found.reasons
        intervals.append(found.interval_rps)
    (low_1, high_1), (low_2, high_2) = intervals
    assert max(low_1, low_2) <= min(high_1, high_2)


def test_the_hull_covers_the_median_border_as_often_as_it_says() -> None:
    # Three rounds: 75 %. 200 searches: four sigma below is 0.75 - 4 * sqrt(.75*.25/200) = 63 %.
    of = study("run.budget_s=1000", "run.search.budget_s=1000", profile="quick")
    covered = 0
    for seed in range(200):
        service = Simulated(restart_sd=0.10, seed=seed)
        found = search_of(play(of, service.measure), of)
        hull = found.bracket
        assert hull.coverage == 0.75
        covered += hull.lo <= service.border_rps(1e6, 0.99) <= hull.hi
    assert covered / 200 > 0.63


def test_a_search_takes_less_than_a_fifth_of_ten_two_minute_points() -> None:
    of = study()
    for seed in range(20):
        service = Simulated(restart_sd=0.05, unknown_share=0.1, correlation=30, seed=seed)
        assert sum(o.wall_s for o in play(of, service.measure)) < 240


def test_quick_study_of_two_services_measures_less_than_three_minutes() -> None:
    ahead = rehearse(study(name="latency_vs_load", profile="quick"))
    assert ahead.measure_s < 180
    assert ahead.wall_s < 200


def test_a_service_that_never_meets_its_target_is_violated_and_the_search_ends() -> None:
    of = study("services.memcached.qos.bound=1us")
    found = search_of(play(of, Simulated(capacity_rps=1000).measure), of)
    assert found.verdict is Verdict.VIOLATED
    assert found.interval_rps[0] == 0


def test_a_server_that_cannot_be_overloaded_is_unknown_with_its_reason() -> None:
    of = study()

    def easy(point: Point) -> Outcome:
        peak = imagine(point)
        return peak if point.offered_rps is None else replace(peak, over_bound=0)

    found = search_of(play(of, easy), of)
    assert found.verdict is Verdict.UNKNOWN
    assert "cannot overload" in found.reasons[0]


def test_when_every_self_check_fails_the_study_ends_unknown() -> None:
    of = study()
    played = play(of, Simulated(unknown_share=1.0).measure)
    found = search_of(played, of)
    assert found.verdict is Verdict.UNKNOWN
    assert "self-checks" in found.reasons[0]
    assert Counter(o.point.phase for o in played)[Phase.SEARCH] < 60


@pytest.mark.parametrize("seed", range(3))
def test_a_few_unknown_runs_change_no_answer(seed: int) -> None:
    of = study()
    service = Simulated(unknown_share=0.15, seed=seed)
    found = search_of(play(of, service.measure), of)
    low, high = found.interval_rps
    assert low <= service.border_rps(1e6, 0.99) <= high


def test_probes_too_short_to_decide_say_so() -> None:
    of = study("run.search.probe_s=0.1", "run.search.probe_max_s=0.1", "run.search.rounds=2")
    found = search_of(play(of, Simulated(correlation=500).measure), of)
    assert found.verdict is Verdict.UNKNOWN
    assert "probe_max_s" in found.reasons[0]


def test_a_failed_confirmation_steps_down_and_says_so() -> None:
    of, service = study(), Simulated()
    limit = 0.9 * service.border_rps(1e6, 0.99)

    def sags(point: Point) -> Outcome:
        outcome = service.measure(point)
        if point.phase is Phase.CONFIRM and (point.offered_rps or 0) > limit:
            return replace(outcome, over_bound=outcome.requests // 20)
        return outcome

    found = search_of(play(of, sags), of)
    assert found.confirmation.steps_down > 0
    assert found.confirmation.rps <= limit
    assert found.interval_rps[0] == found.confirmation.rps
    assert (found.bracket.lo, 0, Decision.FAIL) in found.confirmation.runs


def test_a_load_that_never_lasts_is_unknown() -> None:
    of, service = study(), Simulated()

    def collapses(point: Point) -> Outcome:
        outcome = service.measure(point)
        is_long = point.phase is Phase.CONFIRM
        return replace(outcome, over_bound=outcome.requests) if is_long else outcome

    found = search_of(play(of, collapses), of)
    assert found.verdict is Verdict.UNKNOWN
    assert "confirmation" in found.reasons[0]


@pytest.mark.parametrize("rule", ["achieved_peak", "no_drop", "qos"])
def test_each_definition_of_max_rps_gives_its_axis(rule: str) -> None:
    of = study(
        f"services.memcached.max_rps={rule}", 'services.memcached.measure=["sweep","max_load"]'
    )
    service = Simulated()
    played = play(of, service.measure)
    axis = progress(of, of.service("memcached"), played).axis
    assert axis is not None
    assert axis.rule == rule
    expected = service.border_rps(1e6, 0.99) if rule == "qos" else service.capacity_rps
    assert axis.rps == pytest.approx(expected, rel=0.08)
    loads = {o.point.fraction: o.point.offered_rps for o in played if o.point.phase is Phase.SWEEP}
    assert loads[0.5] == pytest.approx(0.5 * axis.rps, rel=1e-3)


@pytest.mark.parametrize(("rule", "factor"), [("lqos", 1.0), ("low_load", 2.9957)])
def test_a_measured_bound_is_the_multiple_of_the_low_load_time(rule: str, factor: float) -> None:
    of = study(
        "services.memcached.qos.bound=''",
        f"services.memcached.qos.rule={rule}",
        "services.memcached.qos.q=0.95",
    )
    played = play(of, Simulated().measure)
    target = progress(of, of.service("memcached"), played).target
    assert target is not None
    # M/M/1 at 20 %: mean 1 / (0.8 mu), and p95 is ln 20 times that.
    assert target.bound_ns == pytest.approx(5 * factor * 1e9 / 80_000, rel=1e-3)
    probe = next(o.point for o in played if o.point.phase is Phase.SEARCH)
    assert dict(probe.overrides)["qos_bound"] == f"{round(target.bound_ns)}ns"


def test_every_fraction_is_measured_once_a_block_in_orders_that_differ() -> None:
    of = study(name="latency_vs_load")
    sweep = [o.point for o in play(of, Simulated().measure) if o.point.phase is Phase.SWEEP]
    blocks = [
        [p.fraction for p in sweep if p.service == "memcached" and p.repeat == block]
        for block in range(of.run.repeats)
    ]
    assert all(sorted(block) == list(of.run.fractions) for block in blocks)  # type: ignore[type-var]
    assert len({tuple(block) for block in blocks}) > 1


def test_unknown_runs_of_a_sweep_are_made_again_at_the_end_of_their_block() -> None:
    of = study(name="latency_vs_load", profile="quick")
    first = next(o.point.key for o in play(of, imagine) if o.point.phase is Phase.SWEEP)

    def flaky(point: Point) -> Outcome:
        outcome = imagine(point)
        return replace(outcome, verdict=Verdict.UNKNOWN) if point.key == first else outcome

    keys = [o.point.key for o in play(of, flaky) if "memcached/sweep/b0" in o.point.key]
    assert keys[-1] == f"{first}~1"
    assert len(keys) == len(of.run.fractions) + 1


def test_a_spent_budget_ends_refinement_and_still_gives_an_answer() -> None:
    of = study("run.budget_s=1")
    played = play(of, Simulated().measure)
    found = search_of(played, of)
    assert found.bracket.rounds == 2
    assert found.confirmation.is_confirmed


def test_one_round_alone_is_no_answer() -> None:
    of = study()
    service = Simulated()

    def lucky(point: Point) -> Outcome:
        outcome = service.measure(point)
        is_later = point.phase is Phase.SEARCH and point.repeat > 0
        return replace(outcome, verdict=Verdict.UNKNOWN) if is_later else outcome

    found = search_of(play(of, lucky), of)
    assert found.verdict is Verdict.UNKNOWN
    assert found.interval_rps is None
    assert "1 of" in found.reasons[0]
    assert "2 are needed" in found.reasons[0]


def test_a_load_that_cannot_be_believed_is_passed_by_on_both_sides() -> None:
    of = study()
    service = Simulated()
    border = service.border_rps(1e6, 0.99)

    def murky(point: Point) -> Outcome:
        outcome = service.measure(point)
        rps = point.offered_rps or 0.0
        is_murky = point.phase is Phase.SEARCH and 0.97 * border < rps < 1.05 * border
        return replace(outcome, verdict=Verdict.UNKNOWN) if is_murky else outcome

    found = search_of(play(of, murky), of)
    assert found.bracket is not None
    assert found.bracket.hi is not None
    assert found.bracket.lo <= 0.97 * border
    assert found.bracket.hi >= 1.05 * border, "what was not believed is not narrowed down"
    assert found.bracket.hi / found.bracket.lo < 1.3


def test_a_spent_budget_takes_any_bracket() -> None:
    usual, hurried = study(), study("run.search.budget_s=1")
    brackets = [search_of(play(of, Simulated().measure), of).bracket for of in (usual, hurried)]
    border = Simulated().border_rps(1e6, 0.99)
    for found in brackets:
        assert found.lo < border < found.hi
    assert brackets[1].hi / brackets[1].lo > brackets[0].hi / brackets[0].lo


def test_a_confirmed_load_is_the_one_that_was_measured_whatever_the_rule_is_now() -> None:
    of = study()
    played = play(of, Simulated().measure)
    elsewhere = [
        replace(o, point=replace(o.point, offered_rps=(o.point.offered_rps or 0) * 0.9))
        if o.point.phase is Phase.CONFIRM
        else o
        for o in played
    ]
    confirmed = search_of(elsewhere, of).confirmation
    assert confirmed.is_confirmed
    assert confirmed.rps == pytest.approx(0.9 * search_of(played, of).confirmation.rps)


def test_check_points_follow_rho_and_last_longer_near_saturation() -> None:
    of = study(name="selfcheck", profile="quick")
    points = [o.point for o in play(of, imagine)]
    assert {p.phase for p in points} == {Phase.CHECK}
    for service in of.services:
        if service.check is None or service.check.system == "null":
            continue
        mine = {p.fraction: p for p in points if p.service == service.label}
        assert set(mine) == set(service.check.rho)
        for rho, point in mine.items():
            assert rho is not None
            load = rho * service.check.servers / service.check.service_s
            assert point.offered_rps == pytest.approx(load, rel=1e-3)
        assert mine[0.9].measure_s > mine[0.5].measure_s


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
    whole = play(of, Simulated(**settings_).measure)  # type: ignore[arg-type]
    assert len(whole) < 300
    assert next_point(of, whole) is None
    service = Simulated(**settings_)  # type: ignore[arg-type]
    part = play(of, service.measure, stop_after=cut)
    resumed = play(of, service.measure, part)
    assert [o.point for o in resumed] == [o.point for o in whole]
    seeds = [o.point.seed for o in whole]
    assert len(set(seeds)) == len(seeds)


def test_two_services_do_not_see_each_other() -> None:
    of = study(name="latency_vs_load", profile="quick")
    keys = [o.point.key for o in play(of, imagine)]
    order = [key.partition("/")[0] for key in keys]
    assert order == sorted(order, key=["memcached", "nginx"].index)
    alone = replace_services(of)
    assert [o.point for o in play(alone, imagine)] == [
        o.point for o in play(of, imagine) if o.point.service == "nginx"
    ]


def replace_services(of: Study) -> Study:
    return of.model_copy(update={"services": of.services[1:]})


def test_bracket_sets_extremes_aside_only_while_coverage_stays() -> None:
    of = study("run.budget_s=1000", "run.search.budget_s=1000", "run.search.rounds=8")
    service = Simulated(restart_sd=0.05)
    found = search_of(play(of, service.measure), of)
    hull = bracket(found.rounds)
    assert hull is not None
    assert hull.coverage == pytest.approx(1 - 2 * 9 / 256)
    lows = sorted(r.lo for r in found.rounds if r.lo)
    assert hull.lo == lows[1]


def test_time_left_learns_from_what_restarts_took_so_far() -> None:
    of = study('services.memcached.measure=["sweep"]')
    done = play(of, imagine, stop_after=15)
    slow = [replace(o, wall_s=o.wall_s + 10) for o in done]
    usual = rehearse(of, done)
    assert len(rehearse(of, slow).points) == len(usual.points)
    expected = usual.wall_s + 10 * len(usual.points)
    assert rehearse(of, slow).wall_s == pytest.approx(expected, abs=10)


def test_a_peak_of_failures_is_a_scale_but_not_a_valid_axis() -> None:
    of = study()

    def misses(point: Point) -> Outcome:
        outcome = imagine(point)
        return replace(outcome, lost=outcome.requests // 2) if not point.offered_rps else outcome

    axis = progress(of, of.service("memcached"), play(of, misses)).axis
    assert axis is not None
    assert not axis.is_valid
    assert "50% of the closed loop's requests failed" in axis.reasons[0]


def test_a_service_that_never_answers_ends_with_its_own_reason() -> None:
    of = study()

    def dead(point: Point) -> Outcome:
        return replace(
            imagine(point), verdict=Verdict.UNKNOWN, reasons=("it died",), achieved_rps=0.0
        )

    played = play(of, dead)
    assert len(played) == of.run.peak_repeats * (1 + of.run.retries)
    assert "it died" in progress(of, of.service("memcached"), played).reasons[0]


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_a_machine_that_spoils_most_runs_cannot_hold_a_quick_study_up(share: float) -> None:
    of = study(name="latency_vs_load", profile="quick")
    for seed in range(20):
        played = play(of, Simulated(unknown_share=share, correlation=20, seed=seed).measure)
        assert sum(o.point.measure_s for o in played) < 180
        for label in ("memcached", "nginx"):
            found = search_of(played, of, label)
            assert found.verdict is not Verdict.UNKNOWN or found.reasons


def test_a_round_that_was_cut_short_says_nothing_about_the_border() -> None:
    of = study("run.search.rounds=4", "run.search.probe_max_s=2.5")
    service = Simulated()

    def slow(point: Point) -> Outcome:
        outcome = service.measure(point)
        is_later = point.phase is Phase.SEARCH and point.repeat > 0
        return replace(outcome, wall_s=100.0) if is_later else outcome

    found = search_of(play(of, slow), of)
    assert found.rounds[-1].ended == "time"
    assert not found.rounds[-1].has_border
    assert found.bracket.rounds == len(found.rounds) - 1
    assert found.verdict is Verdict.UNKNOWN
    assert "2 are needed" in found.reasons[0]


def test_a_confirmation_that_cannot_be_believed_ends_in_time_and_says_so() -> None:
    of, service = study(), Simulated()

    def stormy(point: Point) -> Outcome:
        outcome = service.measure(point)
        if point.phase is Phase.CONFIRM:
            return replace(outcome, verdict=Verdict.UNKNOWN, wall_s=40.0)
        return outcome

    found = search_of(play(of, stormy), of)
    runs = [o for o in play(of, stormy) if o.point.phase is Phase.CONFIRM]
    assert len(runs) == 3
    assert found.verdict is Verdict.UNKNOWN
    assert "of 3 confirmation runs 0 held the bound" in found.reasons[0]
    assert "3 cannot be believed" in found.reasons[0]
