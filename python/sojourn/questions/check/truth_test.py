"""A right instrument passes, a wrong one fails, a short one cannot tell."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis import runs
from sojourn.analysis.study import study
from sojourn.analysis.testing import measured, study_of
from sojourn.findings.measured import Measured
from sojourn.plan.points import Phase, Point, Verdict
from sojourn.questions import answers
from sojourn.questions.check import asks, truth
from sojourn.questions.check.asks import Check
from sojourn.questions.check.judge import rows_of
from sojourn.questions.check.testing import ideal, run_oracle
from sojourn.spec import ServiceSpec
from sojourn.stats import queue_autocorrelation, queueing
from sojourn.stats.interval import Estimate, Interval
from sojourn.stats.testing import mg1
from sojourn.stats.times import from_values


def systems(service_time: str, rho: tuple[float, ...]) -> list[ServiceSpec]:
    return [
        ideal("M/M/1", service_time=service_time, rho=rho),
        ideal("M/D/1", service_time=service_time, rho=rho),
    ]


def test_the_golden_theory_of_the_method() -> None:
    check = Check.model_validate({"system": "M/M/1", "service_time": "1ms"})
    golden = {0.5: (5.99, 9.21), 0.7: (9.99, 15.35), 0.8: (14.98, 23.03), 0.9: (29.96, 46.05)}
    for rho, wanted in golden.items():
        results = [truth.theory(check, rho, q) / 1e6 for q in (0.95, 0.99)]
        assert results == pytest.approx(wanted, abs=0.006)


def test_a_right_instrument_agrees_with_theory() -> None:
    asked = study_of(*systems("50us", (0.5, 0.8)), name="selfcheck")
    findings = study(run_oracle(asked, seed=4, path_ns=30_000), answers())
    assert len(rows_of(findings)) == 12
    assert not [row for row in rows_of(findings) if row.verdict is Verdict.VIOLATED]
    held = [row for row in rows_of(findings) if row.verdict is Verdict.HOLDS]
    assert len(held) >= 10
    assert "theory includes 30" in held[0].reasons[-1]
    assert findings.answer.startswith(f"{len(held)} of 12 quantities")


def test_the_path_is_what_constant_service_shows() -> None:
    asked = study_of(*systems("50us", (0.5, 0.8)), name="selfcheck")
    data = run_oracle(asked, seed=4, path_ns=12_000)
    fixed, check = asked.services[1], asks.of(asked.services[1])
    assert check is not None
    assert truth.path(check, data.of(fixed.label)).ns == pytest.approx(12_000, rel=0.01)
    assert len({row.reasons[-1] for row in rows_of(study(data, answers()))}) == 1


def test_an_instrument_that_is_a_quarter_slow_is_caught() -> None:
    asked = study_of(*systems("50us", (0.5, 0.8)), name="selfcheck")
    findings = study(run_oracle(asked, seed=4, slow=1.25), answers())
    assert findings.verdict is not Verdict.HOLDS
    wrong = [row for row in rows_of(findings) if row.verdict is Verdict.VIOLATED]
    assert len(wrong) >= 8
    assert "off theory, outside the interval" in wrong[0].reasons[0]


def test_a_short_check_is_unknown_not_passed() -> None:
    asked = study_of(ideal("M/M/1", service_time="2ms", rho=(0.8, 0.9)), name="selfcheck")
    findings = study(run_oracle(asked, seed=5), answers())
    assert {row.verdict for row in rows_of(findings)} == {Verdict.UNKNOWN}
    assert findings.verdict is Verdict.UNKNOWN


def test_the_family_keeps_its_confidence() -> None:
    count = truth.comparisons([Check.model_validate({"system": "M/M/1"})] * 3)
    assert count == 36
    assert count * (1 - truth.confidence(count)) == pytest.approx(0.05)


def check(system: str, **more: object) -> Check:
    return Check.model_validate({"system": system, "service_time": "1ms", **more})


def test_theory_is_that_of_the_system_by_name() -> None:
    md1, mm4 = check("M/D/1"), check("M/M/n", servers=4)
    assert truth.theory(md1, 0.6, None) == pytest.approx(1e6 * (1 + 0.6 / 0.8))
    assert truth.theory(md1, 0.6, 0.99) == 1e6 * queueing.md1_quantile(0.99, 0.6, 1.0)
    assert truth.theory(mm4, 0.6, None) == pytest.approx(1e6 * queueing.mmn_mean(4, 0.6, 1.0))
    assert truth.theory(mm4, 0.6, 0.99) == pytest.approx(
        1e6 * queueing.mmn_quantile(0.99, 4, 0.6, 1.0)
    )


def test_comparisons_are_three_for_each_load_and_none_of_the_null_service() -> None:
    two = [check("M/M/1", rho=(0.5, 0.8)), check("null", rates=("1k",), rho=(0.5,))]
    assert truth.comparisons(two) == 6
    assert truth.confidence(0) == truth.confidence(1) == pytest.approx(0.95)
    assert truth.rows(two[1], [], 6, truth.Path()) == ()


def estimated(lo: float | None, hi: float, value: float = 100.0) -> Estimate:
    interval = None if lo is None else Interval(lo=lo, hi=hi)
    return Estimate(
        q=0.99,
        value=None if lo is None else value,
        interval=interval,
        across_restarts=None,
        requests=9,
        effective=9,
        refused="few",
    )


@pytest.mark.parametrize(
    ("lo", "hi", "verdict", "words"),
    [
        (90, 110, "holds", "interval at 99.00%: all 5 comparisons together keep 95 %"),
        (100, 110, "holds", "interval at"),
        (90, 100, "holds", "interval at"),
        (90, 99.9, "violated", "measured +20.0% off theory, outside the interval"),
        (100.1, 110, "violated", "measured +20.0% off theory"),
        (80, 120, "holds", "interval at"),
        (79, 121, "unknown", "the interval spans ±21 % of theory, more than 20 %"),
        (90, math.inf, "unknown", "the interval has no upper end"),
        (None, 0, "unknown", "few"),
    ],
)
def test_theory_has_to_lie_in_an_interval_that_could_have_seen_an_error(
    lo: float | None, hi: float, verdict: str, words: str
) -> None:
    result, reasons = truth._verdict(estimated(lo, hi, 120.0), 100.0, truth.Path(7_000.0), 0.99, 5)
    assert result == verdict
    assert reasons[0].startswith(words)
    if lo is not None:
        assert reasons[-1] == "theory includes 7 µs of path through the kernel"


def point(rho: float, *, verdict: str = "holds", reason: str = "") -> Measured:
    """A run of M/M/1 at 1 ms a request, ten seconds of it, on a path of 20 µs."""
    planned = Point(
        key=f"mm1/check/f{rho}",
        service="mm1",
        phase=Phase.CHECK,
        offered_rps=rho * 1e3,
        fraction=rho,
        measure_s=200.0,
        warmup_s=0.0,
        seed=1,
    )
    times = 1e6 * mg1(np.random.default_rng(3), rho, 100_000) + 20e3
    reasons = (reason,) if reason else ()
    return measured(planned, times, verdict=Verdict(verdict), reasons=reasons, seconds=20)


def test_a_row_is_theory_shifted_by_the_path_beside_what_was_measured() -> None:
    system = check("M/M/1", rho=(0.5, 0.7))
    low, late = point(0.5), point(0.7, verdict="unknown", reason="late")
    result = truth.rows(system, [late, low], 6, truth.Path(20e3))
    assert [(r.rho, r.quantity) for r in result] == [
        (rho, name) for rho in (0.5, 0.7) for name in ("mean", "p95", "p99")
    ]
    for row, q in zip(result, (None, 0.95, 0.99) * 2, strict=True):
        assert row.theory_ns == truth.theory(system, row.rho, q) + 20e3
        assert row.system == "M/M/1"
    assert all(row.verdict is not Verdict.VIOLATED for row in result[:3])
    assert result[0].estimate.value == pytest.approx(2e6, rel=0.05)
    # n / n_eff by theory, or the run's own where that is more.
    own = runs.judge(low, None, confidence=truth.confidence(6)).ratios
    for row, q in zip(result[:3], (None, 0.95, 0.99), strict=True):
        over = None if q is None else truth.theory(system, 0.5, q) / 1e6
        ratio = max(queue_autocorrelation.ratio("M/M/1", 0.5, over), own[q].ratio)
        assert row.estimate.effective == pytest.approx(100_000 / ratio)
    for row in result[3:]:
        assert (row.verdict, row.reasons) == (Verdict.UNKNOWN, ("late",))
        assert (row.estimate.value, row.estimate.refused) == (None, "no run is valid")
    (mean, *_) = truth.rows(check("M/M/n", servers=2, rho=(0.9,)), [], 6, truth.Path())
    assert (mean.system, mean.reasons) == ("M/M/2", ("not measured",))


def test_the_path_is_what_the_tenth_that_waited_least_shows_at_the_lowest_load() -> None:
    system = check("M/M/1")
    late = point(0.3, verdict="unknown")
    times = [point(rho).sojourn for rho in (0.5, 0.7)]
    p10 = [t.at_rank(10_000)[0] for t in times]
    result = truth.path(system, [point(0.7), late, point(0.5)]).ns
    assert result == pytest.approx(p10[0] - truth.theory(system, 0.5, 0.1))
    assert result == pytest.approx(20e3, rel=0.5)
    quick = replace(point(0.5), sojourn=from_values(np.full(10, 5.0)))
    assert truth.path(system, [quick]).ns == 0.0
    assert truth.path(system, [late]) == truth.path(system, []) == truth.Path()
    both = truth.path(
        system, [point(0.5), replace(quick, sojourn=from_values(np.full(10, p10[0] + 8e3)))]
    )
    assert both.ns == pytest.approx(result + 4e3)


def test_of_a_fixed_service_the_path_is_the_median_of_those_that_did_not_wait() -> None:
    """Half wait for nothing at ρ = 0.5: their paths lie between 10 and 30 µs, evenly."""
    system = check("M/D/1", rho=(0.5,))
    way = np.random.default_rng(3).uniform(10e3, 30e3, 50_000)
    times = np.concatenate([1e6 + way, np.linspace(1.1e6, 3e6, 50_000)])
    result = truth.path(system, [replace(point(0.5), sojourn=from_values(times))])
    assert result.ns == pytest.approx(20e3, rel=0.02)
    assert result.spread_ns == pytest.approx(6e3, rel=0.05)  # the least tenth of all: up to 14 µs


@pytest.mark.parametrize(("off_ns", "verdict"), [(0, "holds"), (1, "violated"), (-1, "violated")])
def test_theory_may_be_off_by_how_far_paths_differ_and_no_further(
    off_ns: int, verdict: str
) -> None:
    system, spread = check("M/M/1", rho=(0.5,)), 400e3
    low = point(0.5)
    bare = truth.rows(system, [low], 3, truth.Path(20e3))[0].estimate
    assert bare.interval is not None
    ideal = truth.theory(system, 0.5, None)
    # Just at the end of what the spread allows, and 1 µs beyond it.
    edge = bare.interval.hi + spread if off_ns >= 0 else bare.interval.lo - spread
    shift = truth.Path(edge - ideal + 1e3 * off_ns - (1.0 if off_ns == 0 else 0.0), spread)
    assert truth.rows(system, [low], 3, shift)[0].verdict == verdict
