"""The answer in numbers: what the posterior says, what the machine adds, what would settle it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from sojourn.analysis import limit, rerun, service
from sojourn.analysis.queue import QUEUES
from sojourn.analysis.served import Served
from sojourn.findings.findings import Qos
from sojourn.findings.highest_load import Border, MaxLoad
from sojourn.findings.measured import Measured, StudyData
from sojourn.findings.state import Settle
from sojourn.plan import Outcome, Phase, Point, Verdict, progress
from sojourn.plan.points import Misses
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import play, study
from sojourn.questions import PLANS
from sojourn.questions.max_load import judge, section, worst
from sojourn.questions.max_load.plan import search_of
from sojourn.samples.failed import LIMITED
from sojourn.spec import Study
from sojourn.stats.interval import Interval

QOS = Qos(q=0.99, bound_ns=1e6, rule="given")


def judged(of: Study, outcomes: list[Outcome], *culprits: str) -> MaxLoad:
    measured = tuple(
        Measured(outcome=o, culprits=culprits if o.point.phase is Phase.SCHEDULED else ())
        for o in outcomes
    )
    data = StudyData(study=of, measured=measured, questions=PLANS)
    state = progress(of, of.services[0], outcomes, PLANS)
    max_load = worst.judge(data, measured, state, QOS, limit.find(measured))
    assert max_load is not None
    return max_load


def quick(*sets: str) -> Study:
    return study(*sets, profile="quick")


@cache
def whole_of(measure: Callable[[Point], Outcome]) -> tuple[Study, list[Outcome]]:
    """A quick study and its outcomes, which the cases below share and do not change."""
    return (of := quick()), play(of, measure, PLANS)


@pytest.fixture(name="stalls", scope="module")
def _stalls() -> tuple[Study, list[Outcome]]:
    of = quick('services.memcached.measure=["sweep", "max_load"]')
    return of, play(of, Served(queue=QUEUES[2]).measure, PLANS)


def test_the_numbers_are_the_posterior_s(stalls: tuple[Study, list[Outcome]]) -> None:
    of, outcomes = stalls
    result = judged(of, outcomes).border
    search = search_of(progress(of, of.services[0], outcomes, PLANS))
    assert result
    assert search
    assert (result.interval_rps.lo, result.interval_rps.hi) == search.interval_rps
    assert result.estimate_rps == search.estimate_rps
    assert result.runs == len(search.trials)
    assert result.measured_s == sum(o.point.measure_s for o in outcomes if o.over_bound is not None)


def test_a_wide_interval_names_the_command_that_would_narrow_it(
    stalls: tuple[Study, list[Outcome]],
) -> None:
    of, outcomes = stalls
    max_load = judged(of, outcomes)
    assert max_load.settle
    assert max_load.settle.command.startswith(
        "sojourn run max_load_memcached --profile quick --set "
    )
    assert max_load.settle.seconds > sum(o.wall_s for o in outcomes)


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
    max_load = judged(of, calm)
    assert max_load.border
    assert max_load.undisturbed
    assert max_load.undisturbed.estimate_rps > 1.2 * max_load.border.estimate_rps


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
    max_load = judged(*whole_of(late))
    assert max_load.verdict is Verdict.VIOLATED
    assert max_load.border
    assert max_load.border.interval_rps.hi == 0


LIMIT = f"{LIMITED}: the service refused 90% of the requests with HTTP 429"


@pytest.mark.parametrize(
    ("load", "factor", "verdict"),
    [
        (0.0, 1.0, Verdict.UNKNOWN),
        (0.95, 2.0, Verdict.UNKNOWN),
        (1.0, 1.0, Verdict.UNKNOWN),
        (1.0, 2.0, Verdict.HOLDS),
    ],
    ids=["all", "the highest loads", "the closed loop, near", "the closed loop, far above"],
)
def test_a_border_that_a_rate_limiter_sets_is_none_of_the_service(
    load: float, factor: float, verdict: Verdict
) -> None:
    of, outcomes = whole_of(imagine)
    highest = max(o.point.offered_rps or 0.0 for o in outcomes)
    far = [
        replace(o, achieved_rps=factor * o.achieved_rps) if o.point.offered_rps is None else o
        for o in outcomes
    ]
    free = judged(of, far)
    assert free.verdict is Verdict.HOLDS
    refused = [
        replace(o, reasons=(LIMIT, *o.reasons))
        if (o.point.offered_rps or math.inf) > load * highest
        else o
        for o in far
    ]
    limited = judged(of, refused)
    assert limited.border == free.border, "the numbers stand"
    assert limited.verdict is verdict
    assert limited.reasons == ((LIMIT,) if verdict is Verdict.UNKNOWN else ())


@pytest.mark.parametrize(
    ("used_cpus", "from_share", "verdict"),
    [
        (0.02, 0.5, Verdict.UNKNOWN),
        (0.98, 0.5, Verdict.HOLDS),
        (None, 0.5, Verdict.HOLDS),
        (0.02, 2.0, Verdict.HOLDS),
    ],
    ids=["idle", "busy", "unseen", "far above"],
)
def test_refusals_with_idle_cpus_are_no_capacity_whatever_the_status(
    used_cpus: float | None, from_share: float, verdict: Verdict
) -> None:
    """NGINX's `limit_req` answers HTTP 503 unless it is set to 429: it looked like the service."""
    of, outcomes = whole_of(imagine)
    free = judged(of, list(outcomes))
    assert free.border
    least = from_share * free.border.interval_rps.hi
    refused = [
        replace(o, refused=o.requests // 2, refused_with=("HTTP 503",), used_cpus=used_cpus)
        if (o.point.offered_rps or 0.0) >= least
        else o
        for o in outcomes
    ]
    limited = judged(of, refused)
    assert limited.border == free.border, "the numbers stand"
    assert limited.verdict is verdict
    assert any("HTTP 503" in why for why in limited.reasons) is (verdict is Verdict.UNKNOWN)


def test_where_nothing_misses_the_answer_is_at_least() -> None:
    max_load = judged(*whole_of(prompt))
    assert max_load.verdict is Verdict.UNKNOWN
    assert "nothing up to" in max_load.reasons[0]
    assert max_load.border
    assert max_load.border.interval_rps.lo > 0
    assert math.isinf(max_load.border.interval_rps.hi)


def test_what_cannot_be_believed_leaves_no_number_but_its_reason() -> None:
    of = quick()

    def lost(point: Point) -> Outcome:
        return replace(imagine(point), verdict=Verdict.UNKNOWN, reasons=("client stopped",))

    max_load = judged(of, play(of, lost, PLANS))
    assert (max_load.verdict, max_load.border) == (Verdict.UNKNOWN, None)
    assert max_load.reasons == ("no run is valid", "client stopped")


def test_runs_with_the_shield_and_without_are_held_side_by_side() -> None:
    of = quick()

    def measure(point: Point) -> Outcome:
        bare = point.phase is Phase.SCHEDULED
        outcome = imagine(point, capacity_rps=60_000 if bare else 100_000)
        return replace(outcome, shield="none" if bare else "priority")

    max_load = judged(of, play(of, measure, PLANS), "kdamond.0")
    assert max_load.shield == "priority"
    assert max_load.border
    assert max_load.scheduled
    assert max_load.scheduled.border
    assert max_load.scheduled.border.estimate_rps < max_load.border.estimate_rps / 1.2
    assert max_load.scheduled.culprits == ("kdamond.0",)
    assert max_load.scheduled.quantile_ns
    assert max_load.scheduled.quantile_ns[0] < max_load.scheduled.quantile_ns[1]


def test_stalls_rarer_than_a_third_of_the_time_near_the_border_cannot_be_excluded(
    stalls: tuple[Study, list[Outcome]],
) -> None:
    of, outcomes = stalls
    max_load = judged(of, outcomes)
    assert max_load.stall_s
    assert max_load.border
    near = [
        o.point.measure_s
        for o in outcomes
        if o.over_bound is not None
        and 1 / 1.15 <= o.offered_rps / max_load.border.estimate_rps <= 1.15
    ]
    assert max_load.stall_s == sum(near) / 3


def border(lo: float, hi: float) -> Border:
    return Border(
        estimate_rps=1_000.0,
        interval_rps=Interval(lo=lo, hi=hi),
        level=0.9,
        fraction=Interval(lo=lo / 2_000, hi=hi / 2_000),
        runs=9,
        starts=9,
        measured_s=30.0,
        curve=((100.0, 1.0), (4_000.0, 0.0)),
    )


@pytest.mark.parametrize(
    ("lo", "hi", "words"),
    [
        (1_000, 2_000, ""),
        (1_000, 2_001, "the interval spans a factor of 2.01, 2 decides: in 30 s of load"),
        (0, 2_000, "nothing down to 100 requests/s was shown to hold"),
        (1_000, math.inf, "nothing up to 4k requests/s was shown to fail"),
    ],
)
def test_an_interval_decides_up_to_a_factor_of_two(lo: float, hi: float, words: str) -> None:
    text = worst._undecided(border(lo, hi))
    assert text.startswith(words)
    assert bool(text) is bool(words)


@cache
def played(budget_s: float, stretch: float) -> tuple[Study, list[Outcome]]:
    """A study and its outcomes, which the cases below share."""
    of = quick(f"run.search.budget_s={budget_s}", f"services.memcached.stretch={stretch}")
    return of, play(of, imagine, PLANS)


def settle(
    lo: float, hi: float, *, spent: int = 0, budget_s: float = 60, stretch: float = 1
) -> Settle | None:
    """After `spent` probes of ten seconds and one run of ten seconds that is none."""
    of, known = played(budget_s, stretch)
    probes = [o for o in known if o.point.phase is Phase.SEARCH][:1] * spent
    peaks = [o for o in known if o.point.phase is Phase.PEAK][:1]
    outcomes = [replace(o, wall_s=10.0) for o in (*probes, *peaks)]
    return worst._settle(
        StudyData(study=of.of("memcached"), measured=(), questions=PLANS), border(lo, hi), outcomes
    )


def test_what_is_narrow_or_violated_is_settled() -> None:
    assert settle(1_000, 1_200) is None
    assert settle(0, 0) is None
    assert settle(1_000, 1_201) is not None


@pytest.mark.parametrize(
    ("lo", "hi", "times"),
    [
        (1_000, 1_439.99, 4.0),  # 1.2²: half the width takes four times as long
        (1_000, 1_727.99, 9.0),
        (1_000, 1_250, 2.0),  # at the least
        (0, 1_000, 2.0),
        (1_000, math.inf, 2.0),
    ],
)
def test_the_time_that_settles_grows_with_the_square_of_the_width(
    lo: float, hi: float, times: float
) -> None:
    result = settle(lo, hi, spent=3)
    assert result is not None
    assert result.command.endswith(f" --set run.search.budget_s={times * 60:g}")
    # What was spent is spent anew, and the search takes its new time: 40 + 60·times − 30.
    assert result.seconds == pytest.approx(40 + times * 60 - 30)
    is_open = lo == 0 or hi == math.inf
    assert result.why == ("find the open end" if is_open else "bring the interval to ±10 %")


def test_what_is_typed_is_stretched_again_for_a_slow_service() -> None:
    usual, slow = settle(1_000, 1_439.99), settle(1_000, 1_439.99, stretch=5)
    assert usual is not None
    assert slow is not None
    assert usual.command == slow.command
    assert slow.seconds - 10 == pytest.approx(5 * (usual.seconds - 10))


@pytest.mark.parametrize(
    ("over", "verdict", "word"),
    [
        (100, "holds", "pass"),
        (101, "holds", "fail"),
        (0, "unknown", "unknown"),
        (None, "holds", "unknown"),
    ],
)
def test_what_one_run_saw(over: int | None, verdict: str, word: str) -> None:
    run = whole_of(imagine)[1][-1]
    # A hundredth of 10,000 may miss; 1 − 0.99 is a little more than it in floating point.
    seen = replace(run, requests=10_000, over_bound=over, verdict=Verdict(verdict))
    assert worst._saw(seen, 0.99) == word


@pytest.mark.parametrize(("factor", "is_reported"), [(1.0, False), (1.04, False), (1.07, True)])
def test_the_undisturbed_answer_is_reported_where_it_differs_by_a_twentieth(
    monkeypatch: pytest.MonkeyPatch, factor: float, *, is_reported: bool
) -> None:
    of, outcomes = whole_of(imagine)
    state = progress(of, of.services[0], outcomes, PLANS)
    assert state.axis
    assert state.target
    marked = [replace(o, undisturbed=Misses(requests=o.requests, over=0)) for o in outcomes]

    def undisturbed(
        ratio: float, lo: float = 900.0, experienced: tuple[float, float] = (900, 1_100)
    ) -> Border | None:
        alone = replace(border(lo, max(1_100, ratio * 1_000)), estimate_rps=ratio * 1_000)
        monkeypatch.setattr(worst, "_border", lambda *_: alone)
        return worst._undisturbed(marked, border(*experienced), state.axis, state.target)  # type: ignore[arg-type]

    assert (undisturbed(factor) is not None) is is_reported
    assert (undisturbed(1 / factor) is not None) is is_reported
    assert undisturbed(2.0, lo=0.0) is None  # an open end cannot be compared
    assert undisturbed(2.0, experienced=(900, math.inf)) is None
    assert undisturbed(2.0, experienced=(0, 1_000)) is None
    assert undisturbed(2.0, experienced=(0, 800)) is not None, "the machine lets less fit"
    assert undisturbed(2.0, experienced=(0, 0)) is not None, "the machine lets nothing fit"
    assert worst._undisturbed(outcomes, border(900, 1_100), state.axis, state.target) is None


def test_an_unfinished_search_decides_nothing() -> None:
    of, whole = whole_of(imagine)
    assert judged(of, whole).verdict is Verdict.HOLDS
    max_load = judged(of, whole[:-1])
    assert (max_load.verdict, max_load.settle) == (Verdict.UNKNOWN, None)  # its command goes on
    assert max_load.reasons == ("the search was not finished: run the study again, it resumes",)
    assert max_load.wall_s == pytest.approx(
        sum(o.wall_s for o in whole[:-1] if o.point.phase in (Phase.SEARCH, Phase.CONFIRM))
    )


def test_an_answer_with_one_open_end_is_the_end_that_is_known() -> None:
    high = judged(*whole_of(prompt)).border
    assert high
    assert high.estimate_rps == high.interval_rps.lo
    low = judged(*whole_of(late)).border
    assert low
    assert low.estimate_rps == low.curve[0][0]
    assert low.starts == len([o for o in whole_of(late)[1] if o.over_bound is not None])


def test_without_an_axis_or_a_target_there_is_no_answer() -> None:
    of = quick()
    data = StudyData(study=of, measured=(), questions=PLANS)
    assert worst.judge(data, (), progress(of, of.services[0], (), PLANS), QOS, None) is None


def test_who_limits_a_service_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    of, outcomes = whole_of(imagine)
    measured = tuple(Measured(outcome=o) for o in outcomes)
    looked: list[int] = []
    monkeypatch.setattr(limit, "find", lambda runs: looked.append(len(runs)))
    data = StudyData(study=of, measured=measured, questions=PLANS)
    answers = {"max_load": judge.KIND}
    assert service.find(data, of.services[0], answers).section(MaxLoad)
    assert looked == [len(measured)]


class FixedPosterior:
    """A posterior whose interval and middle are given."""

    def __init__(self, lo: float, hi: float) -> None:
        self.rps, self.holds = (100.0, 500.0, 1_000.0), (0.9, 0.5, 0.1)
        self.ends = (lo, hi)

    def interval(self) -> tuple[float, float]:
        return self.ends

    def within(self, p: float) -> float:
        return {0.5: 600.0}[p]


@pytest.mark.parametrize(
    ("lo", "hi", "estimate"),
    [
        (500, 700, 600),
        (0, 700, 700),
        (0, 50, 100),  # nothing below the least load of the grid can be offered
        (500, math.inf, 500),
        (0, math.inf, 600),  # nothing is known: the model's middle
    ],
)
def test_the_estimate_is_the_middle_or_the_end_that_is_known(
    lo: float, hi: float, estimate: float
) -> None:
    of, outcomes = whole_of(imagine)
    axis = progress(of, of.services[0], outcomes, PLANS).axis
    assert axis
    result = worst._border(FixedPosterior(lo, hi), (), replace(axis, rps=1_000.0))  # type: ignore[arg-type]
    assert result.estimate_rps == estimate
    assert result.fraction == Interval(lo=lo / 1_000, hi=hi / 1_000)
    assert result.curve == ((100.0, 0.9), (500.0, 0.5), (1_000.0, 0.1))
    assert (result.runs, result.starts, result.measured_s, result.level) == (0, 0, 0, 0.9)


def test_pairs_are_the_fewer_of_both_and_their_medians_are_of_one_load() -> None:
    of, outcomes = whole_of(imagine)
    state = progress(of, of.services[0], outcomes, PLANS)
    search = search_of(state)
    assert search
    assert search.at_rps
    at = search.at_rps
    seen = next(o for o in outcomes if o.point.phase is Phase.CONFIRM)

    def times(phase: Phase, *each: float | None, rps: float = at) -> list[Outcome]:
        point = replace(seen.point, phase=phase, offered_rps=rps)
        return [replace(seen, point=point, p99_ns=ns, p95_ns=1.0) for ns in each]

    doubted = [replace(o, verdict=Verdict.UNKNOWN) for o in times(Phase.CONFIRM, 9e9)]
    mixed = [
        *times(Phase.CONFIRM, 3e5, 1e5, 2e5, None),
        *doubted,
        *times(Phase.CONFIRM, 9e9, rps=at + 1),
        *times(Phase.SCHEDULED, 5e5, 4e5),
    ]
    assert state.axis
    assert state.target
    measured = [Measured(outcome=o, culprits=("a", "b")) for o in mixed]
    result = worst._scheduled(measured, search, state.axis, state.target, 0.99)
    assert result
    # Of 100, 200, 300 and ∞ µs the middle is 250: lost requests made the fourth infinite.
    assert (result.quantile_ns, result.pairs, result.at_rps) == ((2.5e5, 4.5e5), 2, at)
    assert result.culprits == ("a", "b")
    assert worst._quantiles(mixed, Phase.CONFIRM, at, 0.95) == [1.0] * 4
    assert worst._quantiles(mixed, Phase.CONFIRM, at, 0.9) == []
    alone = [m for m in measured if m.outcome.point.phase is Phase.CONFIRM]
    assert worst._scheduled(alone, search, state.axis, state.target, 0.99) is None
    lossy = [*mixed, *times(Phase.SCHEDULED, None, None, None)]
    result = worst._scheduled(
        [Measured(outcome=o) for o in lossy], search, state.axis, state.target, 0.99
    )
    assert result
    assert (result.quantile_ns, result.pairs) == ((2.5e5, math.inf), 4)
    assert "lost requests instead of 250 µs at" in section._as_scheduled(result)
    [note] = section._scheduled(border(900, 1_100), replace(result, border=None))
    assert "250 µs with the CPU to itself; lost requests as this machine schedules it" in note


def test_a_few_probes_of_a_search_that_was_cut_short_are_told_one_by_one() -> None:
    of, whole = whole_of(imagine)
    probes = [o for o in whole if o.point.phase in (Phase.SEARCH, Phase.CONFIRM)]
    max_load = judged(of, whole)
    assert [rps for rps, _ in max_load.probes] == [o.offered_rps for o in probes]
    assert {word for _, word in max_load.probes} == {"pass", "fail"}
    moved = [replace(o, shield="move" if o is probes[-1] else "none") for o in whole]
    assert judged(of, moved).shield == "move"


def test_the_command_is_the_user_s_own_without_his_budget() -> None:
    of = quick()
    typed = "sojourn run x --set run.search.budget_s=5 --set seed=1"
    data = StudyData(study=of, measured=(), command=typed, questions=PLANS)
    again = rerun.with_values(data, {"run.search.budget_s": 90.0})
    assert again == "sojourn run x --set seed=1 --set run.search.budget_s=90"


def test_seconds_are_rounded_up_to_ten_and_from_ten_minutes_to_whole_ones() -> None:
    assert [worst._rounded(s) for s in (1.0, 591.0, 601.0)] == [10.0, 600.0, 660.0]


def test_the_time_near_the_border_is_that_within_15_percent() -> None:
    of, outcomes = whole_of(imagine)
    search = search_of(progress(of, of.services[0], outcomes, PLANS))
    assert search
    trial = search.trials[0]
    trials = [
        replace(trial, rps=rps, seconds=s)
        for rps, s in ((1_149.0, 1.0), (1_151.0, 10.0), (871.0, 100.0), (868.0, 1e3))
    ]
    value = worst._stall_s(replace(search, trials=tuple(trials)), border(900, 1_100))
    assert value == pytest.approx(101 / 3)
    far = replace(search, trials=tuple(trials[1::2]))
    assert worst._stall_s(far, border(900, 1_100)) is None
    assert worst._stall_s(search, None) is None
