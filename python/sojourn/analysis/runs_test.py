"""One run alone: what it says of its target is what its own interval shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sojourn.analysis import load_point, run_stats, runs
from sojourn.analysis.testing import measured
from sojourn.findings.findings import Qos
from sojourn.findings.measured import Second
from sojourn.plan import Phase, Point, Verdict
from sojourn.plan.decide import Decision
from sojourn.plan.points import Course
from sojourn.stats.independence import Batched
from sojourn.stats.testing import mg1
from sojourn.stats.times import EMPTY, from_values

POINT = Point(
    key="s/sweep/b0/f0.80",
    service="s",
    phase=Phase.SWEEP,
    offered_rps=8_000.0,
    fraction=0.8,
    measure_s=5.0,
    warmup_s=0.0,
    seed=1,
)
TRUE_P99 = np.log(100) / (1 - 0.8)  # of M/M/1 in service times, at a load of 0.8
SERVICE_NS = 1e5


@pytest.mark.parametrize("bound", [0.5, 0.9, 1.0, 1.1, 1.5, 3.0])
def test_no_run_holds_or_fails_while_its_own_interval_crosses_the_bound(bound: float) -> None:
    qos = Qos(q=0.99, bound_ns=bound * TRUE_P99 * SERVICE_NS, rule="given")
    texts = set()
    for seed in range(12):
        times = SERVICE_NS * mg1(np.random.default_rng(seed), 0.8, 40_000)
        judged = runs.judge(measured(POINT, times, bound_ns=qos.bound_ns, seconds=10), qos)
        point = load_point.gather([judged], qos, None, None)
        shown = next(e.interval for e in point.quantiles if e.q == 0.99)
        texts.add(judged.run.verdict)
        if not judged.is_believed or shown is None:
            continue
        if judged.run.verdict is Verdict.HOLDS:
            assert shown.hi <= qos.bound_ns
        elif judged.run.verdict is Verdict.VIOLATED:
            assert shown.lo > qos.bound_ns
        else:
            assert "count as" in judged.run.reasons[-1]
    if bound == 3.0:
        assert Verdict.HOLDS in texts
    if bound == 0.5:
        assert Verdict.VIOLATED in texts


def made(n: int, over: int, *, ratio: float = 1.0, **change: Any) -> runs.Judged:
    """A run of n requests of which so many take 2 ms, the rest 0.1; n / n_eff as given."""
    times = np.full(n, 1e5)
    times[:over] = 2e6
    base = replace(measured(POINT, times), raw_sojourn_ns=None, **change)
    base = replace(base, outcome=replace(base.outcome, correlation=ratio))
    return runs.judge(base, MS)


MS = Qos(q=0.99, bound_ns=1e6, rule="given")


def test_the_test_counts_effective_requests_and_the_interval_has_the_last_word() -> None:
    """1 % of 40,000 may miss. As many as 320 for sure; 480 not; between no one knows."""
    assert made(40_000, 280).decision is Decision.PASS
    assert made(40_000, 520).decision is Decision.FAIL
    assert made(40_000, 400).decision is Decision.UNDECIDED
    assert made(40_000, 280, ratio=9.0).decision is Decision.UNDECIDED
    assert made(40_000, 520, ratio=9.0).decision is Decision.UNDECIDED
    none = runs.judge(made(40_000, 400).measured, None)
    assert (none.decision, none.run.verdict) == (Decision.PASS, Verdict.HOLDS)


def test_why_it_could_not_decide_is_reported_with_its_numbers() -> None:
    text = made(40_000, 480, ratio=4.0).run.reasons[-1]
    assert text == (
        "undecided alone: 1.2 % of 40,000 requests exceed the bound, 1 % may; they depend on each "
        "other and count as 10,000"
    )
    few = made(2_000, 10, ratio=4.0).run.reasons[-1]
    assert few.endswith("count as 500, 563 are needed")
    assert runs.undecided(EMPTY, MS, 1.0).startswith("undecided alone: 0 % of 0 requests")


def test_runs_together_count_by_their_requests_and_add_their_freedom() -> None:
    """Ratios 2 and 5 of 1,000 and 3,000 requests: 4.25, with 19 + 9 degrees of freedom."""
    pair = []
    for n, ratio, freedom in ((1_000, 2.0, 19), (3_000, 5.0, 9)):
        batch_ratio = Batched(ratio=ratio, freedom=freedom)
        pair.append(replace(made(n, 0), ratios={0.99: batch_ratio}))
    assert runs.ratio(pair, 0.99) == pytest.approx(4.25 * (2.0484 / 1.96) ** 2, rel=1e-4)
    assert runs.ratio(pair, 0.99, 0.9) == pytest.approx(4.25 * (1.7011 / 1.6449) ** 2, rel=1e-4)
    assert runs.ratio(pair, 0.99, least=7.0) == 7.0
    assert runs.ratio([], 0.99) == 1.0
    assert runs.ratio([], 0.99, least=3.0) == 3.0


def test_a_run_is_cut_into_its_seconds_or_into_twenty_parts_of_its_raw_times() -> None:
    raw = np.arange(400.0) + 1
    with_raw = replace(made(400, 0).measured, raw_sojourn_ns=raw)
    parts = run_stats.slices(with_raw)
    assert [part.n for part in parts] == [20] * 20
    assert parts[0].quantile(1.0) == 20.0
    assert run_stats.slices(replace(with_raw, raw_sojourn_ns=raw[:399])) == ()
    second = Second(at_s=0.0, achieved_rps=1.0, sojourn=from_values(np.ones(3)))
    eight = replace(with_raw, seconds=(second,) * 8)
    assert [part.n for part in run_stats.slices(eight)] == [3] * 8
    assert len(run_stats.slices(replace(with_raw, seconds=(second,) * 7))) == 20
    assert run_stats.slices(replace(eight, raw_sojourn_ns=None, seconds=(second,) * 7)) == ()


def test_a_thin_sample_of_raw_times_shows_that_share_of_the_dependence() -> None:
    """Σρ shrinks with the share of the requests that is stored: a tenth of them, ten times."""
    times = 1e5 * mg1(np.random.default_rng(2), 0.8, 20_000)
    whole = replace(measured(POINT, times), raw_share=1.0)
    own = runs.judge(whole, None).ratios
    thin = runs.judge(replace(whole, raw_share=0.1), None).ratios
    for q in (None, 0.5, 0.99):
        assert thin[q].ratio == pytest.approx(1 + 10 * (own[q].ratio - 1))
        assert own[q].ratio > 1.5
        assert thin[q].freedom == own[q].freedom == 19
    seconds = measured(POINT, times, seconds=10)
    logged = [runs.judge(replace(seconds, raw_share=share), None).ratios for share in (1.0, 0.1)]
    assert logged[0] == logged[1]  # the log holds every request
    bare = runs.judge(replace(whole, raw_sojourn_ns=None), None).ratios[0.99]
    assert (bare.ratio, bare.freedom) == (whole.outcome.correlation, np.inf)


def test_a_run_s_mean_is_the_exact_one_or_the_histogram_s_and_none_with_lost_requests() -> None:
    assert made(1_000, 100).run.mean_ns == pytest.approx(0.9 * 1e5 + 0.1 * 2e6)
    assert made(1_000, 100, mean_ns=7.0).run.mean_ns == 7.0
    times = np.full(1_000, 1e5)
    times[0] = np.inf
    assert runs.judge(replace(measured(POINT, times), mean_ns=7.0), None).run.mean_ns is None
    assert runs.judge(replace(measured(POINT, times[:0]), mean_ns=7.0), None).run.mean_ns is None


def test_the_series_has_rate_and_quantiles_of_every_second_and_errors_by_name() -> None:
    values = np.arange(1.0, 101)
    seconds = tuple(
        Second(at_s=float(k), achieved_rps=10.0 * k, sojourn=from_values(values + 100 * k))
        for k in range(3)
    )
    run = made(1_000, 0, seconds=seconds, errors={"b": 2, "a": 1}).run
    assert run.series == tuple((k, 10.0 * k, 50.0 + 100 * k, 99.0 + 100 * k) for k in range(3))
    assert run.errors == (("a", 1), ("b", 2))
    assert (run.key, run.repeat, run.fraction) == (POINT.key, 0, 0.8)


def test_a_cold_start_is_sought_in_the_slices_or_else_in_raw_times() -> None:
    rng = np.random.default_rng(3)
    level = np.r_[np.full(12, 2.0), np.ones(28)]
    raw = np.concatenate([rng.normal(1e5 * each, 2e3, 50) for each in level])
    seconds = [
        Second(at_s=float(k), achieved_rps=1.0, sojourn=from_values(part))
        for k, part in enumerate(np.array_split(raw, 40))
    ]
    base = replace(measured(POINT, raw), raw_sojourn_ns=None)
    forty = runs.judge(replace(base, seconds=tuple(seconds)), None)
    assert any(reason.startswith("cold start: in the first ") for reason in forty.run.reasons)
    assert (forty.decision, forty.is_believed) == (Decision.UNKNOWN, False)
    fewer = replace(base, seconds=tuple(seconds[:7]))
    assert not any("cold" in reason for reason in runs.judge(fewer, None).run.reasons)
    with_raw = run_stats.find(replace(fewer, raw_sojourn_ns=raw), ())
    assert with_raw.cold.startswith("cold start: in the first ")
    assert run_stats.course(with_raw) is Course.COLD
    assert run_stats.course(run_stats.find(base, ())) is Course.STEADY


def test_a_run_whose_queue_grows_has_no_numbers_and_says_so_to_the_plan() -> None:
    raw = np.linspace(1e6, 1e8, 20_000)
    result = runs.judge(measured(POINT, raw), None)
    assert (result.run.grows, result.run.is_believed) == (True, False)
    own = run_stats.find(measured(POINT, raw), ())
    assert run_stats.course(own) is Course.GROWS
    assert run_stats.course(replace(own, grows=False)) is Course.MOVES


def test_what_is_asked_of_a_target_is_asked_once_in_order() -> None:
    assert runs.asked(None) == (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)
    assert runs.asked(MS) == runs.asked(None)
    assert runs.asked(replace(MS, q=0.97)) == (0.5, 0.9, 0.95, 0.97, 0.99, 0.999, 0.9999)


def test_a_run_without_a_request_or_a_doubted_one_is_not_believed() -> None:
    assert runs.judge(measured(POINT, np.empty(0)), None).decision is Decision.UNKNOWN
    sound = measured(POINT, np.full(1_000, 1e5))
    doubted = replace(sound.outcome, verdict=Verdict.UNKNOWN, reasons=("late",))
    result = runs.judge(replace(sound, outcome=doubted), MS)
    assert (result.decision, result.run.is_believed, result.run.verdict) == (
        Decision.UNKNOWN,
        False,
        Verdict.UNKNOWN,
    )
    assert result.run.reasons == ("late",)
    assert runs.judge(sound, MS).run.is_believed


def test_why_a_run_is_void_comes_before_that_its_target_was_missed() -> None:
    result = measured(POINT, np.full(20_000, 2e6), seconds=20)
    own = run_stats.find(result, runs.asked(MS))
    rising = replace(own, is_steady=False, unsteady=("the run has a trend (M8)",))

    def answer(verdict: Verdict, reason: str) -> tuple[str, ...]:
        outcome = replace(result.outcome, verdict=verdict, reasons=(reason,))
        return runs.judge(replace(result, outcome=outcome, alone=rising), MS).run.reasons

    assert answer(Verdict.VIOLATED, "qos: above") == ("the run has a trend (M8)", "qos: above")
    assert answer(Verdict.UNKNOWN, "client stopped: 60 %")[0] == "client stopped: 60 %"
