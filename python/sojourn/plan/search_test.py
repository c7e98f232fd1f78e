"""The search: where it probes, when it ends, and how the shield takes turns at its end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from sojourn.plan import Axis, Outcome, Phase, Point, Target, Verdict, progress
from sojourn.plan import search as plan_search
from sojourn.plan.evidence import Trial, trials
from sojourn.plan.points import Misses
from sojourn.plan.posterior import Posterior
from sojourn.plan.rehearsal import imagine
from sojourn.plan.search import (
    LEAST_S,
    QUANTILES,
    STARTS_MIN,
    Search,
    _Asked,
    _is_narrow,
    needs_s,
    search,
)
from sojourn.plan.simulated import Simulated, play, search_of, study
from sojourn.spec import MaxRps, QosRule, Study
from sojourn.testing_questions import PLANS

BORDER_RPS = Simulated().border_rps(1e6, 0.99)
AXIS = Axis(rps=2e3, lo_rps=2e3, hi_rps=2e3, rule=MaxRps.ACHIEVED_PEAK, runs=1, is_valid=True)
TARGET = Target(q=0.99, bound_ns=1e6, rule=QosRule.GIVEN)
TRIAL = Trial(rps=1e3, requests=1_000, over=0, clusters=(), seconds=1.0, life="a")


def played(
    measure: Callable[[Point], Outcome] | None = None, *sets: str, profile: str = "quick"
) -> tuple[Study, list[Outcome], Search]:
    of = study(*sets, profile=profile)
    outcomes = play(of, measure or Simulated(restart_sd=0.03).measure, PLANS)
    return of, outcomes, search_of(outcomes, of, PLANS)


def of_phase(outcomes: list[Outcome], phase: Phase) -> list[Outcome]:
    return [o for o in outcomes if o.point.phase is phase]


@pytest.mark.parametrize("profile", ["quick", "standard"])
def test_the_interval_holds_the_border_of_mm1(profile: str) -> None:
    _, _, result = played(profile=profile)
    assert result.interval_rps is not None
    lo, hi = result.interval_rps
    # One search of a 90 % interval; restarts of 3 %: an end may pass the truth by one of them.
    assert lo / 1.03 <= BORDER_RPS <= hi * 1.03
    assert hi / lo < 1.25


def test_every_probe_is_a_start_of_its_own_and_its_key_is_used_once() -> None:
    _, outcomes, _ = played()
    points = [o.point for o in of_phase(outcomes, Phase.SEARCH)]
    assert len({p.life for p in points}) == len(points) >= STARTS_MIN
    assert len({p.key for p in points}) == len(points)


def test_probes_are_made_at_quantiles_of_the_border_as_known_before_them() -> None:
    of, outcomes, _ = played()
    service = of.service("memcached")
    for number, probe in enumerate(of_phase(outcomes, Phase.SEARCH)):
        before = outcomes[: outcomes.index(probe)]
        state = progress(of, service, before, PLANS)
        assert state.axis
        assert state.target
        now = search(of, service, before, state.axis, state.target)
        if now.posterior is not None:
            wanted = now.posterior.within(QUANTILES[number % len(QUANTILES)])
            assert probe.point.offered_rps == pytest.approx(wanted, rel=1e-3)


def test_a_narrow_interval_ends_the_search_before_its_time_is_spent() -> None:
    _, outcomes, result = played(imagine, "run.search.budget_s=600", "run.budget_s=2000")
    probes = of_phase(outcomes, Phase.SEARCH)
    assert STARTS_MIN <= len(probes) < 60
    assert result.interval_rps is not None
    assert result.interval_rps[1] <= result.interval_rps[0] * 1.1


def test_the_time_of_the_search_is_kept_whatever_it_found() -> None:
    of, outcomes, _ = played(Simulated(correlation=500).measure)
    assert sum(o.wall_s for o in of_phase(outcomes, Phase.SEARCH)) <= of.run.search.budget_s


def probes_of(budget_s: float, *, wall_s: float = 10.0) -> int:
    """How many probes of ten seconds a search makes within its time, if it never gets narrow."""

    def measure(point: Point) -> Outcome:
        lost = replace(imagine(point), verdict=Verdict.UNKNOWN, reasons=("x",), wall_s=wall_s)
        return lost if point.phase is Phase.SEARCH else imagine(point)

    _, outcomes, _ = played(measure, f"run.search.budget_s={budget_s}")
    return len(of_phase(outcomes, Phase.SEARCH))


@pytest.mark.parametrize(
    ("budget_s", "wanted"), [(5, 3), (29, 3), (30, 3), (39, 3), (40, 4), (59, 5), (60, 6)]
)
def test_a_probe_is_begun_only_if_it_ends_in_time_and_three_in_any_case(
    budget_s: float, wanted: int
) -> None:
    assert probes_of(budget_s) == wanted


def test_where_nothing_is_known_probes_take_turns_between_two_loads() -> None:
    def measure(point: Point) -> Outcome:
        lost = replace(imagine(point), verdict=Verdict.UNKNOWN, reasons=("x",), wall_s=10.0)
        return lost if point.phase is Phase.SEARCH else imagine(point)

    of, outcomes, _ = played(measure, "run.search.budget_s=50")
    axis = progress(of, of.service("memcached"), outcomes, PLANS).axis
    assert axis
    shares = [(o.point.offered_rps or 0) / axis.rps for o in of_phase(outcomes, Phase.SEARCH)]
    assert shares == pytest.approx([0.5, 0.8, 0.5, 0.8, 0.5], rel=1e-3)
    assert [o.point.fraction for o in of_phase(outcomes, Phase.SEARCH)] == pytest.approx(
        shares, rel=1e-3
    )


def test_however_narrow_the_interval_eight_starts_are_probed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan_search, "_is_narrow", lambda *_: True)
    _, outcomes, _ = played(imagine, "run.search.budget_s=300")
    assert len(of_phase(outcomes, Phase.SEARCH)) == STARTS_MIN == 8


@pytest.mark.parametrize(
    ("ends", "seconds", "is_narrow"),
    [
        ((1_000.0, 1_090.0), 22.0, True),
        ((1_000.0, 1_090.0), 21.9, False),
        ((1_000.0, 1_150.0), 99.0, False),
    ],
)
def test_narrow_is_twice_the_resolution_and_rests_on_enough_load(
    ends: tuple[float, float], seconds: float, *, is_narrow: bool
) -> None:
    """A border that is certainly between the ends, resolution 5 %, p99 of 1 ms: 22 s."""
    of = study(profile="quick")
    lo, hi = ends
    posterior = Posterior(rps=(lo / 2, lo, hi, 2 * hi), holds=(1.0, 0.951, 0.049, 0.0))
    trials = tuple(replace(TRIAL, seconds=seconds / 2) for _ in range(2))
    asked = _Asked(study=of, label="memcached", outcomes=(), axis=AXIS, target=TARGET)
    assert of.run.search.resolution == 0.05
    assert _is_narrow(asked, posterior, trials) is is_narrow
    assert not _is_narrow(asked, None, trials)


def test_runs_that_cannot_be_believed_are_left_out_and_not_repeated() -> None:
    _, outcomes, result = played(Simulated(unknown_share=0.5, seed=4).measure)
    lost = [o for o in of_phase(outcomes, Phase.SEARCH) if o.verdict is Verdict.UNKNOWN]
    assert lost
    assert len(result.trials) == sum(
        o.verdict is not Verdict.UNKNOWN and o.point.phase in (Phase.SEARCH, Phase.CONFIRM)
        for o in outcomes
    )
    assert not any("~" in o.point.key for o in lost)


def test_a_search_of_which_nothing_can_be_believed_ends_without_a_number() -> None:
    def lost(point: Point) -> Outcome:
        return replace(imagine(point), verdict=Verdict.UNKNOWN, reasons=("client stopped",))

    _, outcomes, result = played(lost)
    assert result.posterior is None
    assert result.interval_rps is None
    assert result.next is None
    assert not of_phase(outcomes, Phase.CONFIRM)


@pytest.mark.parametrize(("bound_ns", "q", "wanted_s"), [(1e6, 0.99, LEAST_S), (20e6, 0.99, 30.0)])
def test_the_load_without_which_no_one_can_know(bound_ns: float, q: float, wanted_s: float) -> None:
    # Three excursions of five bounds each fill 1 % of 1500 bounds.
    assert needs_s(q, bound_ns / 1e9) == pytest.approx(wanted_s)


def test_without_a_shield_the_last_runs_are_confirmations_alone() -> None:
    of, outcomes, result = played()
    last = of_phase(outcomes, Phase.CONFIRM)
    assert len(last) == of.run.search.confirm_repeats
    assert {o.point.offered_rps for o in last} == {result.at_rps}
    assert not of_phase(outcomes, Phase.SCHEDULED)


def shielded(capacity_rps: float) -> Callable[[Point], Outcome]:
    """A service that has this capacity without the shield, and 100k with it."""

    def measure(point: Point) -> Outcome:
        bare = point.phase is Phase.SCHEDULED
        outcome = imagine(point, capacity_rps=capacity_rps if bare else 100_000)
        return replace(outcome, shield="none" if bare else "priority")

    return measure


def test_with_a_shield_the_last_runs_take_turns_with_runs_without_it() -> None:
    of, outcomes, result = played(shielded(100_000))
    last = [o.point for o in outcomes if o.point.phase in (Phase.CONFIRM, Phase.SCHEDULED)]
    assert [p.phase for p in last] == [Phase.SCHEDULED, Phase.CONFIRM] * 2
    assert {p.offered_rps for p in last} == {result.at_rps}
    assert of.run.search.confirm_repeats == 2


def test_where_the_machine_decides_runs_without_the_shield_look_for_its_border() -> None:
    _, outcomes, result = played(shielded(50_000))
    bare = [o.point.offered_rps or 0 for o in of_phase(outcomes, Phase.SCHEDULED)]
    assert len(bare) == 4
    assert result.at_rps is not None
    assert max(bare[2:]) < result.at_rps


def test_runs_without_the_shield_never_move_the_answer_with_it() -> None:
    _, _, good = played(shielded(100_000))
    _, _, bad = played(shielded(50_000))
    assert good.interval_rps == bad.interval_rps


def stalled(point: Point) -> Outcome:
    """A machine that takes the server's CPU again and again: 3 % of requests miss at any load."""
    own = Simulated(restart_sd=0.03).measure(point)
    if own.over_bound is None:
        return own
    apart = Misses(requests=own.requests, over=own.over_bound, clusters=own.clusters)
    added = (max(1, own.requests // 1000),) * 30
    return replace(
        own,
        over_bound=own.over_bound + sum(added),
        clusters=(*own.clusters, *added),
        undisturbed=apart,
    )


def test_where_the_machine_decides_both_borders_are_probed() -> None:
    of, outcomes, result = played(stalled)
    assert result.interval_rps is not None
    assert result.interval_rps[1] < 0.5 * BORDER_RPS, "as experienced hardly any load fits"
    [service] = of.services
    known = progress(of, service, outcomes, PLANS)
    assert known.axis is not None
    calm = plan_search.border_of(trials(outcomes, undisturbed=True), known.axis, TARGET)
    assert calm is not None
    lo, hi = calm.interval()
    assert lo / 1.05 <= BORDER_RPS <= hi * 1.05
    assert hi / lo < 1.6, "it was searched, not only swept"
    near = [o for o in of_phase(outcomes, Phase.SEARCH) if (o.point.offered_rps or 0) > lo / 1.2]
    far = [
        o for o in of_phase(outcomes, Phase.SEARCH) if (o.point.offered_rps or 0) < BORDER_RPS / 2
    ]
    assert min(len(near), len(far)) >= 3, "turn by turn"


def of_low_border(capacity_rps: float) -> tuple[list[Outcome], Search]:
    """A closed loop is served much faster than requests within the bound are."""
    server = Simulated(capacity_rps=capacity_rps, restart_sd=0.03)

    def measure(point: Point) -> Outcome:
        outcome = server.measure(point)
        return replace(outcome, achieved_rps=1e5) if point.offered_rps is None else outcome

    _, outcomes, result = played(
        measure, 'services.memcached.measure=["max_load"]', "services.memcached.qos.bound=2ms"
    )
    return of_phase(outcomes, Phase.SEARCH), result


def test_a_border_below_the_grid_is_sought_there() -> None:
    """The grid began at 12 % of the peak, and every probe was made there."""
    _, result = of_low_border(6e3)
    assert result.interval_rps is not None
    lo, hi = result.interval_rps
    assert 0 < lo <= 6e3 - math.log(100) / 2e-3 <= hi < 0.12e5


def test_where_nothing_holds_probes_go_down() -> None:
    probes, result = of_low_border(1.0)
    assert result.interval_rps == (0, 0)
    loads = [probe.point.offered_rps or 0.0 for probe in probes]
    assert min(loads) < 0.02e5
    assert loads.count(min(loads)) == 1


@pytest.mark.parametrize(
    ("lowest", "rps"), [(1e3, 500.0), (30.0, 20.0), (20.0, 20.0), (10.0, 10.0)]
)
def test_no_probe_goes_below_a_hundredth_of_the_peak(lowest: float, rps: float) -> None:
    now = Posterior(rps=(lowest, 2 * lowest), holds=(0.4, 0.01))
    assert plan_search._quantile(now, 0.5, AXIS) == rps
    assert plan_search._quantile(now, 0.8, AXIS) == now.within(0.8) > lowest
