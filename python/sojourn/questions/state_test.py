"""The state of a study is that of its own question, whatever else was measured for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn import analysis, spec
from sojourn.analysis import counted, state
from sojourn.analysis.counted import Counted, is_narrow
from sojourn.findings.effects import Effect, FactorFinding, Trend
from sojourn.findings.findings import Findings
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.findings.state import Settle, State
from sojourn.plan.points import Verdict
from sojourn.questions import PLANS, answers
from sojourn.questions.testing_state import blank, border, every, of_service
from sojourn.stats.interval import Interval

WHAT = "p99 at 70 % load"


def effect(
    lo: float, hi: float, what: str = WHAT, *, gate: float | None = None, is_noise: bool = False
) -> Effect:
    return Effect(
        what=what,
        is_time=True,
        base="1",
        level="2",
        ratio=(lo * hi) ** 0.5,
        interval=Interval(lo=lo, hi=hi),
        coverage=0.95,
        blocks=3,
        reason="",
        doubt="",
        sentence="",
        noise_gate=gate,
        is_noise=is_noise,
    )


def trend(kind: str, ends: Interval | None = None, span: float | None = None) -> Trend:
    return Trend(
        what=WHAT,
        kind=kind,
        levels=("1", "2", "4"),
        blocks=3,
        ratio=None,
        interval=ends,
        sentence="",
        span=span,
    )


def factor(
    *effects: Effect, trends: tuple[Trend, ...] = (), asked: tuple[str, ...] = ()
) -> FactorFinding:
    return FactorFinding(
        service="memcached",
        key="k",
        name="k",
        levels=("1", "2"),
        effects=effects,
        aliases=(),
        sentence="",
        trends=trends,
        asked=asked,
    )


def study(*factors: FactorFinding) -> Findings:
    return replace(blank(), factors=factors)


@pytest.mark.parametrize("name", answers())
def test_every_question_counts_its_own_part(name: str) -> None:
    made = every()[name]
    assert answers()[name].counted(made.found) == Counted(made.done, made.of, made.unit)
    result = state.of(made.found, answers())
    assert (result.done, result.of, result.unit) == (made.done, made.of, made.unit)
    assert result.text == f"answered in part ({made.done} of {made.of} {made.unit})"


@pytest.mark.parametrize("name", answers())
def test_what_was_not_asked_counts_for_nothing(name: str) -> None:
    other = "null" if name != "null" else "sweep"
    assert answers()[name].counted(every()[other].found) is None


@pytest.mark.parametrize("name", answers())
def test_what_was_asked_and_has_no_answer_is_open(name: str) -> None:
    """A matrix of which no cell was measured was called answered by the loads of one service."""
    result = state.of(replace(blank(), unanswered=(name,)), answers())
    assert (result.word, result.done, result.of) == ("undecided", 0, 1)
    made = every()[name]
    beside = state.of(replace(made.found, unanswered=(name,)), answers())
    assert (beside.done, beside.of) == (made.done, made.of + 1)


def test_a_service_without_any_load_is_not_answered_by_the_loads_of_another() -> None:
    result = every()["sweep"].found
    empty = replace(result.services[0], points=())
    counts = answers()["sweep"].counted(replace(result, services=(*result.services, empty)))
    before = answers()["sweep"].counted(result)
    assert before is not None
    assert counts == Counted(before.done, before.of + 1, "loads")


@pytest.mark.parametrize(
    ("lo", "hi", "is_decided"),
    [
        (0.12, 34.1, False),  # 2.02 times: a cure or a disaster
        (1.1, 1.1 * 2.9, True),
        (1.1, 1.1 * 3.1, False),
        (0.6, 0.6 * 2.9, True),  # no difference beyond its ends
        (0.6, 0.6 * 3.1, False),
        (0.2, 0.2 * 2.9, True),
    ],
)
def test_an_interval_wider_than_a_factor_of_three_answers_nothing(
    lo: float, hi: float, *, is_decided: bool
) -> None:
    assert counted.is_decided(effect(lo, hi)) is is_decided
    assert state.of(study(factor(effect(lo, hi))), answers()).word == (
        "answered" if is_decided else "undecided"
    )


def test_two_times_from_an_eighth_to_thirty_four_within_the_noise_is_undecided() -> None:
    """What `virtualisation` once came to, and was called answered."""
    place = effect(0.12, 34.1, "p99 at 10 % load", gate=9.59, is_noise=True)
    result = state.of(study(factor(place)), answers())
    assert (result.word, result.text) == ("undecided", "undecided (0 of 1 effects)")
    mean = effect(0.95, 1.2, "the mean at 10 % load")
    assert (
        state.of(study(factor(place, mean)), answers()).text == "answered in part (1 of 2 effects)"
    )


def test_what_equal_runs_differ_by_as_well_is_no_difference_unless_they_are_alike() -> None:
    assert counted.is_decided(effect(1.1, 1.9, gate=1.5, is_noise=False))
    assert not counted.is_decided(effect(1.1, 1.9, gate=1.8, is_noise=True))
    assert counted.is_decided(effect(1.1, 1.5, gate=1.7, is_noise=True))
    assert counted.is_decided(effect(0.8, 1.3, gate=9.0, is_noise=True))  # it says "within"


def test_a_trend_answers_for_all_levels_where_it_is_sure_and_narrow() -> None:
    wide = effect(0.1, 10)
    for sure in (
        trend("flat"),
        trend("cliff", Interval(lo=2, hi=5.9)),
        trend("unclear", span=2.9),
    ):
        assert state.of(study(factor(wide, wide, trends=(sure,))), answers()).text == "answered"
    for open_ in (
        trend("unknown"),
        trend("cliff", Interval(lo=2, hi=6.1)),
        trend("unclear", span=3.1),
        trend("unclear", Interval(lo=0.9, hi=1.1)),
    ):
        result = state.of(study(factor(wide, effect(1, 2), trends=(open_,))), answers())
        assert result.text == "answered in part (1 of 2 effects)", open_


def test_medians_beside_a_tail_are_no_part_of_the_question() -> None:
    tail, middle = effect(0.1, 10), effect(0.9, 1.1, "p50 at 70 % load")
    assert state.of(study(factor(tail, middle, asked=(WHAT,))), answers()).word == "undecided"
    assert state.of(study(factor(tail, middle)), answers()).word == "answered in part"


def test_factors_speak_before_the_numbers_of_each_combination_and_after_a_question_of_all() -> None:
    alone = of_service("max_load", border(100, 1000))
    assert state.of(alone, answers()).word == "undecided"
    assert state.of(replace(alone, factors=(factor(effect(1, 2)),)), answers()).text == "answered"
    matrix = every()["qos_matrix"].found
    assert state.of(replace(matrix, factors=(factor(effect(1, 2)),)), answers()).unit == "cells"


def test_what_has_no_answer_is_open_whoever_speaks_for_the_study() -> None:
    """Such as loads of a sweep that was ended early, beside effects that are known."""
    result = replace(study(factor(effect(1, 2))), unanswered=("sweep", "sweep"))
    assert state.of(result, answers()).text == "answered in part (1 of 3 numbers)"


def test_a_verdict_that_is_open_does_not_make_a_study_undecided() -> None:
    result = replace(study(factor(effect(1, 2))), verdict=Verdict.UNKNOWN)
    assert state.of(result, answers()).word == "answered"


def test_a_search_without_a_border_counts_once_where_it_is_counted_as_not_answered() -> None:
    begun = border(100, 200)
    result = of_service("max_load", begun, replace(begun, border=None))
    assert state.of(result, answers()).text == "answered in part (1 of 2 services)"
    apart = state.of(replace(result, unanswered=("max_load",)), answers())
    assert (apart.done, apart.of) == (1, 2)


def test_loads_and_the_highest_of_them_are_counted_together() -> None:
    findings = of_service("max_load", border(100, 200))
    both = replace(
        findings.services[0].having("sweep", Section()),
        points=every()["sweep"].found.services[0].points,
    )
    assert (
        state.of(replace(findings, services=(both,)), answers()).text
        == "answered in part (2 of 3 numbers)"
    )


def test_a_study_that_was_not_begun_has_no_answer_to_what_it_asks() -> None:
    bare = analysis.study(
        StudyData(study=spec.load("max_load_memcached"), measured=(), questions=PLANS), answers()
    )
    assert bare.unanswered == ("max_load",)
    matrix = analysis.study(
        StudyData(study=spec.load("qos_matrix"), measured=(), questions=PLANS), answers()
    )
    assert "qos_matrix" in matrix.unanswered
    assert matrix.state.word == "undecided"


def test_nothing_measured_is_undecided_and_has_no_command() -> None:
    bare = state.of(replace(blank(), services=()), answers())
    assert (bare.text, bare.settle) == ("undecided", None)


def test_what_is_answered_has_nothing_to_settle() -> None:
    more = Settle(command="sojourn run x", seconds=60.0, why="narrow it")
    open_ = replace(study(factor(effect(0.1, 10))), state=State(done=0, of=1, unit="", settle=more))
    assert state.of(open_, answers()).settle == more
    assert state.of(replace(open_, factors=(factor(effect(1, 2)),)), answers()).settle is None


@pytest.mark.parametrize(
    ("ends", "is_it"),
    [((1.0, 3.0), True), ((1.0, 3.01), False), ((0.0, 1.0), False), ((1.0, float("inf")), False)],
)
def test_narrow(ends: tuple[float, float], *, is_it: bool) -> None:
    assert is_narrow(Interval(*ends)) is is_it
