"""The search against a simulated service: convergence, coverage, drift, unknowns, its end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from sojourn.plan import Decision, Outcome, Phase, Point, Verdict
from sojourn.plan.haste import Haste
from sojourn.plan.ladder import Round, Rung
from sojourn.plan.rehearse import imagine
from sojourn.plan.rounds import bracket
from sojourn.plan.search import against
from sojourn.plan.simulated import Simulated, play, search_of, study


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


def test_bracket_sets_extremes_aside_only_while_coverage_stays() -> None:
    of = study("run.budget_s=1000", "run.search.budget_s=1000", "run.search.rounds=8")
    service = Simulated(restart_sd=0.05)
    found = search_of(play(of, service.measure), of)
    hull = bracket(found.rounds)
    assert hull is not None
    assert hull.coverage == pytest.approx(1 - 2 * 9 / 256)
    lows = sorted(r.lo for r in found.rounds if r.lo)
    assert hull.lo == lows[1]


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


def round_of(ended: str, **decisions: Decision) -> Round:
    """A round that is over, from loads (`r90` is 90 requests/s) and what was said of them."""
    said = {float(name[1:]): decision for name, decision in decisions.items()}
    failed = [rps for rps, decision in said.items() if decision is Decision.FAIL]
    hi = min(failed)
    passed = [rps for rps, d in said.items() if d is Decision.PASS and rps < hi]
    return Round(
        rungs=tuple(Rung(rps=rps, decision=d, runs=1, believed=1) for rps, d in said.items()),
        lo=max(passed, default=None), hi=hi, next_rps=None, next_s=None, ended=ended,
    )  # fmt: skip


def test_a_round_that_only_failed_says_nothing_of_lower_loads_unless_it_went_to_the_floor() -> None:
    good = round_of("narrow", r93=Decision.PASS, r96=Decision.FAIL)
    for ended in ("unknown", "time", "24 probes"):
        bad = round_of(ended, r90=Decision.FAIL, r70=Decision.UNKNOWN, r50=Decision.UNKNOWN)
        assert not bad.has_border
        hull = bracket([good, bad])
        assert hull is not None
        assert (hull.lo, hull.rounds) == (93, 1)
    floor = round_of("floor", r90=Decision.FAIL, r1=Decision.FAIL)
    assert floor.has_border
    assert bracket([floor, floor]).lo == 0  # type: ignore[union-attr]


def test_loads_that_cannot_be_believed_on_the_way_to_the_floor_are_no_violation() -> None:
    clear = [round_of("floor", r90=Decision.FAIL, r1=Decision.FAIL)] * 2
    assert against(clear, bracket(clear), Haste.NONE) == ()
    murky = [round_of("floor", r90=Decision.FAIL, r40=Decision.UNKNOWN, r1=Decision.FAIL)] * 2
    assert "2 of 6 loads cannot be believed" in against(murky, bracket(murky), Haste.NONE)[0]
