"""Effects of a whole study: what is simulated is found, and what cannot be told is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sojourn import analysis, spec
from sojourn.analysis import counted
from sojourn.analysis.study import _headlines
from sojourn.analysis.testing import measured
from sojourn.findings.effects import Effect
from sojourn.findings.findings import Findings
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import Phase, Planner, Point, Verdict
from sojourn.spec import Study
from sojourn.testing_questions import PLANS, answers

THREADS, CONNECTIONS = "services.memcached.params.threads", "services.memcached.load.connections"
PLACE = "services.memcached.place"
LOADS = (0.3, 0.7)


def asked(*varied: str, repeats: int = 3, sets: tuple[str, ...] = ()) -> Study:
    return spec.load(
        "max_load_memcached",
        profile="quick",
        varied=[f"load={','.join(map(str, LOADS))}", *varied],
        overrides=[
            'services.memcached.measure=["sweep"]',
            f"run.repeats={repeats}",
            f"run.peak_repeats={repeats}",
            *sets,
        ],
    )


def slow(point: Point) -> float:
    """Times are twice as long with two threads, and 1.5 times with 64 connections."""
    levels = point.setting
    return (2.0 if levels.get(THREADS) == 2 else 1.0) * (
        1.5 if levels.get(CONNECTIONS) == 64 else 1.0
    )


def played(
    study: Study,
    *,
    is_bad: str = "",
    loses: str = "",
    grows: Callable[[Point], bool] = lambda _: False,
    slow: Callable[[Point], float] = slow,
) -> StudyData:
    """Exponential times around 100 µs; those of blocks differ by some per cent."""
    rng = np.random.default_rng(5)
    done: list[Measured] = []
    planner = Planner(study, PLANS)
    while point := planner.next([m.outcome for m in done]):
        mean_ns = 1e5 * slow(point) * np.exp(0.05 * rng.standard_normal())
        times = rng.exponential(mean_ns, 3000)
        if loses and loses in point.key:
            times[::30] = np.inf
        if grows(point):
            times += np.linspace(1e5, 1e8, len(times))
        one = measured(point, times, bound_ns=1e6)
        if point.offered_rps is None:
            rate = 1e5 / slow(point) * np.exp(0.02 * rng.standard_normal())
            one = replace(one, outcome=replace(one.outcome, achieved_rps=rate))
        if is_bad and is_bad in point.key and point.phase is Phase.SWEEP:
            bad = replace(one.outcome, verdict=Verdict.UNKNOWN, reasons=("client stopped",))
            one = replace(one, outcome=bad)
        done.append(one)
    return StudyData(study=study, measured=tuple(done), questions=PLANS)


def effect(findings: Findings, factor: str, what: str) -> Effect:
    [of] = [f for f in findings.factors if f.name == factor]
    return next(e for e in of.effects if e.what == what)


def test_effects_of_several_factors_are_distinguished() -> None:
    result = analysis.study(played(asked(f"{THREADS}=1,2", f"{CONNECTIONS}=16,64")), answers())
    for factor, ratio in (("threads", 2.0), ("connections", 1.5)):
        for what in ("p99 at 70 % load", "p50 at 30 % load"):
            one = effect(result, factor, what)
            assert one.interval is not None
            assert one.ratio == pytest.approx(ratio, rel=0.15)
            assert one.interval.lo < (one.ratio or 0) < one.interval.hi
            assert one.interval.hi / one.interval.lo < 1.6
            assert one.blocks == 3
        peak = effect(result, factor, "max RPS")
        assert peak.ratio == pytest.approx(1 / ratio, rel=0.05)
    assert len(result.services) == 4
    titles = {s.service for s in result.services}
    assert "memcached, threads = 2, connections = 16" in titles
    assert {s.label for s in result.services} == {"memcached"}
    assert all(len(point.runs) == 3 for s in result.services for point in s.points)
    [sentence] = [f.sentence for f in result.factors if f.name == "threads"]
    assert "p99 at 70 % load is" in sentence
    assert "as long with threads = 2 as with 1" in sentence
    assert sentence in result.answer


def test_what_a_place_costs_is_reported_for_the_mean_as_well() -> None:
    """C17: the ratio of mean and p99 to bare metal, at a share of its max RPS."""

    def in_place(point: Point) -> float:
        return 1.5 if point.setting[PLACE] == "runc" else 1.0

    study = asked(f"{PLACE}=local,runc", sets=('services.memcached.axis="local"',))
    result = analysis.study(played(study, slow=in_place), answers())
    for what in ("the mean at 30 % load", "p99 at 30 % load"):
        one = effect(result, "place", what)
        assert one.ratio == pytest.approx(1.5, rel=0.15)
        assert one.interval is not None
        assert one.interval.lo < (one.ratio or 0) < one.interval.hi
    [of] = result.factors
    assert "the mean at 70 % load" in of.sentence
    assert "p99 at 70 % load" in of.sentence
    assert not [e for e in of.effects if e.what == "max RPS"]  # there is one, that of `local`


def test_an_effect_that_equal_runs_have_too_is_reported_as_within_their_noise() -> None:
    # Nothing comes of the first factor; the second makes times 1.5 times as long.
    place = "services.memcached.load.threads"
    result = analysis.study(
        played(asked(f"{place}=1,2", f"{CONNECTIONS}=16,64", repeats=4)), answers()
    )
    nothing = effect(result, "threads", "p99 at 70 % load")
    assert nothing.noise_gate is not None
    assert 1 < nothing.noise_gate < 1.2
    assert nothing.is_noise
    assert "within the noise of equal runs" in nothing.sentence
    real = effect(result, "connections", "p99 at 70 % load")
    assert not real.is_noise
    assert "within the noise" not in real.sentence
    median = effect(result, "threads", "p50 at 70 % load")
    assert median.noise_gate is None  # pairs were compared by another quantile


def test_one_block_tells_no_interval() -> None:
    one = effect(
        analysis.study(played(asked(f"{THREADS}=1,2", repeats=1)), answers()),
        "threads",
        "p99 at 70 % load",
    )
    assert one.ratio == pytest.approx(2, rel=0.3)
    assert one.interval is None
    assert "run.repeats" in one.reason
    assert "but one block" in one.sentence


def test_runs_that_are_not_believed_decide_nothing() -> None:
    result = analysis.study(played(asked(f"{THREADS}=1,2"), is_bad="threads=2"), answers())
    one = effect(result, "threads", "p99 at 70 % load")
    assert (one.ratio, one.interval, one.blocks) == (None, None, 0)
    assert "no block has valid runs of both" in one.reason
    assert effect(result, "threads", "max RPS").interval is not None


def test_requests_that_were_lost_are_infinitely_late_and_no_block_is_left_out() -> None:
    study = asked(f"{THREADS}=1,2")
    in_one_block = f"sweep/b1/load=0.7,{THREADS}=2"
    result = analysis.study(played(study, loses=in_one_block), answers())
    one = effect(result, "threads", "p99 at 70 % load")
    assert (one.ratio, one.interval) == (None, None)
    assert "infinite in 1 of 3 blocks" in one.sentence
    assert effect(result, "threads", "p99 at 30 % load").blocks == 3
    assert effect(result, "threads", "p50 at 70 % load").interval is not None


def test_a_queue_that_grows_in_every_block_is_an_answer_that_no_ratio_has() -> None:
    """With two threads 70 % is more than is served; 30 % has its ratio."""

    def overloaded(point: Point) -> bool:
        return point.setting.get(THREADS) == 2 and point.fraction == 0.7

    result = analysis.study(played(asked(f"{THREADS}=1,2"), grows=overloaded), answers())
    one = effect(result, "threads", "p99 at 70 % load")
    assert (one.endless, one.ratio, one.interval) == (1, None, None)
    assert one.sentence == (
        "p99 at 70 % load grows without end with threads = 2, and not with 1: that is more load "
        "than is served"
    )
    assert counted.is_decided(one)
    assert not effect(result, "threads", "p99 at 30 % load").endless
    point = next(p for s in result.services if s.levels for p in s.points if p.is_overloaded)
    assert (point.fraction, point.verdict, point.is_believed) == (0.7, Verdict.VIOLATED, False)

    other = analysis.study(played(asked(f"{THREADS}=2,1"), grows=overloaded), answers())
    assert effect(other, "threads", "p99 at 70 % load").endless == -1


def test_a_queue_that_grows_in_some_blocks_or_once_is_no_such_answer() -> None:
    def overloaded(point: Point) -> bool:
        return point.setting.get(THREADS) == 2 and point.fraction == 0.7 and point.repeat > 0

    result = analysis.study(played(asked(f"{THREADS}=1,2"), grows=overloaded), answers())
    one = effect(result, "threads", "p99 at 70 % load")
    assert (one.endless, one.blocks, one.interval) == (0, 3, None)
    assert "infinite in 2 of 3 blocks" in one.sentence
    once = played(asked(f"{THREADS}=1,2", repeats=1), grows=lambda p: slow(p) > 1)
    alone = analysis.study(once, answers())
    assert not effect(alone, "threads", "p99 at 70 % load").endless, "one run grows by chance"
    data = played(asked(f"{THREADS}=1,2"), grows=lambda p: p.fraction == 0.7)
    both = analysis.study(data, answers())
    one = effect(both, "threads", "p99 at 70 % load")
    assert (one.endless, counted.is_decided(one)) == (0, False)
    assert "infinite in 3 of 3 blocks" in one.sentence


def test_levels_under_different_shields_are_not_compared() -> None:
    data = played(asked(f"{THREADS}=1,2"))
    shielded = tuple(
        replace(m, outcome=replace(m.outcome, shield="priority"))
        if m.outcome.point.setting[THREADS] == 1
        else m
        for m in data.measured
    )
    one = effect(
        analysis.study(replace(data, measured=shielded), answers()), "threads", "p99 at 70 % load"
    )
    assert one.interval is None
    assert "shield was not the same" in one.reason


def test_a_run_that_is_not_believed_says_nothing_of_the_shield() -> None:
    data = played(asked(f"{THREADS}=1,2"))
    doubted = tuple(
        replace(m, outcome=replace(m.outcome, shield="priority", verdict=Verdict.UNKNOWN))
        if m.outcome.point.repeat == 0 and m.outcome.point.setting[THREADS] == 2
        else m
        for m in data.measured
    )
    one = effect(
        analysis.study(replace(data, measured=doubted), answers()), "threads", "p99 at 70 % load"
    )
    assert "shield" not in one.reason


def test_a_fraction_names_the_effects_that_it_cannot_distinguish() -> None:
    study = asked(
        f"{THREADS}=1,2",
        f"{CONNECTIONS}=16,64",
        "services.memcached.params.value_bytes=100,200",
        sets=('design.kind="fractional"', "design.p=1"),
    )
    result = analysis.study(played(study), answers())
    assert len(result.services) == 4
    of = {factor.name: factor for factor in result.factors}
    assert of["threads"].aliases == ("connections with value_bytes",)
    assert "confounded with the effect of connections with value_bytes" in of["threads"].sentence
    one = effect(result, "threads", "p99 at 70 % load")
    assert one.ratio == pytest.approx(2, rel=0.15)
    none = effect(result, "value_bytes", "p99 at 70 % load")
    assert none.ratio == pytest.approx(1, rel=0.15)


def test_a_study_without_factors_has_no_effects() -> None:
    result = analysis.study(played(asked()), answers())
    assert result.factors == ()
    [service] = result.services
    assert (service.service, service.levels) == ("memcached", ())


def test_a_neighbour_shares_the_load_axis_of_the_service_alone() -> None:
    result = analysis.study(played(asked("neighbour=none,spin")), answers())
    axes = {s.service: s.max_rps for s in result.services}
    assert axes["memcached, neighbour = spin"] == axes["memcached, neighbour = none"]
    [factor] = result.factors
    assert "max RPS" not in [e.what for e in factor.effects]


def test_levels_that_are_numbers_have_a_trend_and_the_sentence_says_it() -> None:
    def with_three(point: Point) -> float:
        return {16: 1.0, 32: 1.0, 64: 3.0}[int(point.setting.get(CONNECTIONS) or 16)]

    result = analysis.study(
        played(asked(f"{CONNECTIONS}=64,16,32", repeats=4), slow=with_three), answers()
    )
    [one] = result.factors
    tail, peak = one.trends
    assert (tail.what, tail.kind, tail.levels) == ("p99 at 70 % load", "cliff", ("16", "32", "64"))
    assert tail.blocks == 4
    assert tail.ratio == pytest.approx(3, rel=0.15)
    assert (peak.what, peak.kind) == ("max RPS", "cliff")
    assert peak.ratio == pytest.approx(1 / 3, rel=0.1)
    assert one.sentence == f"memcached: {tail.sentence}; {peak.sentence}."
    assert len(one.effects) == 2 * 5, "the table has every level beside the first"


def test_two_levels_and_words_have_no_trend() -> None:
    assert [
        f.trends for f in analysis.study(played(asked(f"{THREADS}=1,2")), answers()).factors
    ] == [()]
    words = analysis.study(
        played(asked("services.memcached.load.arrivals=poisson,fixed,gamma:2")), answers()
    )
    assert [f.trends for f in words.factors] == [()]


def test_a_twin_represents_a_run_that_is_not_believed_and_both_are_averaged() -> None:
    study = spec.load(
        "max_load_memcached",
        profile="quick",
        varied=["load=0.7", f"{THREADS}=1,2"],
        overrides=['services.memcached.measure=["sweep"]', "run.repeats=3", "run.peak_repeats=3"],
    )
    whole = effect(analysis.study(played(study), answers()), "threads", "p99 at 70 % load")
    bad = "/b0/load=0.7,services.memcached.params.threads=2"
    data = played(study, is_bad=bad)
    selected = [m for m in data.measured if bad not in m.outcome.point.key]
    twins = [
        m for m in data.measured if bad in m.outcome.point.key and "twin" in m.outcome.point.key
    ]
    assert twins, "the quick study has A/A pairs"
    believed = [
        m for m in played(study).measured if m.outcome.point.key == twins[0].outcome.point.key
    ]
    both = replace(data, measured=(*selected, *believed))
    one = effect(analysis.study(both, answers()), "threads", "p99 at 70 % load")
    assert (whole.blocks, one.blocks) == (3, 3), "the block is told by the twin alone"
    assert one.noise_gate is not None
    assert whole.noise_gate is not None
    assert one.noise_gate > whole.noise_gate * 0.9, "fewer runs, more chance"


def test_the_sentence_of_many_combinations_says_of_which_it_is_and_is_reported_once() -> None:
    result = analysis.study(played(asked(f"{THREADS}=1,2,4")), answers())
    assert result.answer.count("keeps p99") <= 3
    assert "With threads = " in result.answer or "Under all 3 combinations: " in result.answer


def test_an_interval_that_tells_nothing_is_not_read_out() -> None:
    rng = np.random.default_rng(2)
    wild = analysis.study(
        played(
            asked(f"{THREADS}=1,2", repeats=2),
            slow=lambda _: float(np.exp(4 * rng.standard_normal())),
        ),
        answers(),
    )
    one = effect(wild, "threads", "p99 at 70 % load")
    assert one.interval is not None
    assert one.interval.hi / one.interval.lo > 1e4
    assert "cannot be compared" in one.sentence
    assert "times (" not in one.sentence


def test_sentences_that_are_alike_are_reported_once_and_unknown_ones_last() -> None:
    services = analysis.study(played(asked(f"{THREADS}=1,2,4")), answers()).services
    assert _headlines(services, ["Whether b.", "It a.", "Whether b."]) == [
        "With threads = 2: it a.",
        "With threads = 1 or threads = 4: whether b.",
    ]
    assert _headlines(services, ["It a."] * 3) == ["Under all 3 combinations: it a."]
