"""Runs at one load together: merged within, Student's across restarts, decided by the model."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis import load_point, runs
from sojourn.analysis.runs import Judged
from sojourn.analysis.testing import measured
from sojourn.findings.findings import Qos
from sojourn.findings.load_point import LoadPoint
from sojourn.plan import Phase, Point, Verdict
from sojourn.plan.posterior import Posterior
from sojourn.stats.times import EMPTY, Times, from_values

POINT = Point(
    key="s/sweep/b0/f0.50",
    service="s",
    phase=Phase.SWEEP,
    offered_rps=5_000.0,
    fraction=0.5,
    measure_s=2.0,
    warmup_s=0.0,
    seed=1,
)
N = 10_000
T_95 = {2: 12.7062, 3: 4.3027, 4: 3.1824}  # Student's 97.5 % points with n − 1 of freedom


def run(mean_ns: float, *, seed: int = 0, fraction: float | None = 0.5) -> Judged:
    """One start of the service: exponential times that hardly differ in shape between starts."""
    times = mean_ns * np.random.default_rng(seed).exponential(1.0, N)
    return runs.judge(measured(replace(POINT, fraction=fraction), times, seconds=10), None)


def doubted(judged: Judged) -> Judged:
    outcome = replace(judged.measured.outcome, verdict=Verdict.UNKNOWN, reasons=("late",))
    return runs.judge(replace(judged.measured, outcome=outcome), None)


def gathered(*judged: Judged, p: float | None = None, max_rps: float | None = None) -> LoadPoint:
    text = None if p is None else Posterior(rps=(1_000.0, 9_000.0), holds=(p, p))
    qos = Qos(q=0.99, bound_ns=1e6, rule="given") if text else None
    return load_point.gather(judged, qos, max_rps, text)


def student(values: list[float]) -> tuple[float, float]:
    mean, half = float(np.mean(values)), 0.0
    half = T_95[len(values)] * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return mean - half, mean + half


@pytest.mark.parametrize("means", [(1e5, 1.1e5, 1.3e5), (1e5, 1.1e5, 1.3e5, 1.2e5)])
def test_the_spread_of_restarts_is_beside_the_interval_within(means: tuple[float, ...]) -> None:
    """Starts that differ by a tenth: no number of requests within them says so."""
    judged = [run(mean, seed=n) for n, mean in enumerate(means)]
    point = gathered(*judged)
    for estimate in (point.mean, *point.quantiles):
        if estimate.q is not None and estimate.q >= 0.999:
            continue
        own = [
            j.run.mean_ns if estimate.q is None else dict(j.run.quantiles)[estimate.q]
            for j in judged
        ]
        assert all(value is not None for value in own)
        assert estimate.across_restarts is not None
        assert estimate.interval is not None
        lo, hi = student([value for value in own if value is not None])
        assert (estimate.across_restarts.lo, estimate.across_restarts.hi) == pytest.approx(
            (lo, hi), rel=1e-4
        )
        assert hi - lo > estimate.interval.hi - estimate.interval.lo


def test_restarts_of_which_one_has_no_number_have_no_interval_across() -> None:
    """Its tail is lost: the others would pretend to speak for it."""
    judged = [run(1e5, seed=n) for n in range(4)]
    mute = replace(judged[3], run=replace(judged[3].run, mean_ns=None, quantiles=()))
    assert gathered(*judged).mean.across_restarts is not None
    point = gathered(*judged[:3], mute)
    assert point.mean.across_restarts is None
    assert all(e.across_restarts is None for e in point.quantiles)


def test_two_restarts_are_too_few_for_an_interval_across() -> None:
    point = gathered(run(1e5), run(2e5, seed=1))
    assert point.mean.across_restarts is None
    assert point.mean.value == pytest.approx(1.5e5, rel=0.03)


def test_what_is_not_believed_is_shown_and_counts_for_nothing() -> None:
    judged = [run(1e5), run(1e5, seed=1), doubted(run(9e5, seed=2))]
    point = gathered(*judged)
    assert len(point.runs) == 3
    assert point.is_believed
    assert point.mean.requests == 2 * N
    assert point.mean.value == pytest.approx(1e5, rel=0.03)
    assert point.achieved_rps == 5_000
    none = gathered(doubted(judged[0]), doubted(judged[1]))
    assert (none.is_believed, none.verdict, none.reasons) == (False, Verdict.UNKNOWN, ("late",))
    assert (none.mean.value, none.mean.requests, none.achieved_rps) == (None, 0, 5_000)


@pytest.mark.parametrize(
    ("p", "verdict"),
    [
        (None, "holds"),
        (0.96, "holds"),
        (0.95, "holds"),
        (0.94, "unknown"),
        (0.06, "unknown"),
        (0.04, "violated"),
    ],
)
def test_the_model_of_all_runs_decides_a_load_where_it_is_sure(
    p: float | None, verdict: str
) -> None:
    point = gathered(run(1e5), p=p)
    assert point.verdict == verdict
    assert bool(point.reasons) is (verdict == "unknown")
    if verdict == "unknown":
        assert f"probability {p:.2f}" in point.reasons[0]


def test_a_load_that_the_plan_had_no_share_for_gets_it_from_the_axis() -> None:
    judged = run(1e5, fraction=None)
    assert gathered(judged, max_rps=20_000.0).fraction == 0.25
    assert gathered(judged).fraction == 0
    assert gathered(run(1e5), max_rps=20_000.0).fraction == 0.5


def test_the_distribution_is_drawn_no_further_than_ten_requests_carry() -> None:
    """Of 20,000 requests the last point with ten above it is 99.95 %."""
    drawn = gathered(run(1e5), run(1e5, seed=1)).distribution
    shares = [share for share, _ in drawn]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(0.01)
    assert 0.9990 < shares[-1] <= 0.9995
    # Exponential: a share s lies at −ln(1 − s) means. In the middle its error is about 1 %: five.
    middle = [(share, ns) for share, ns in drawn if 0.3 < share < 0.9]
    for share, ns in middle:
        assert ns == pytest.approx(-1e5 * math.log(1 - share), rel=0.05)


def test_restarts_in_two_groups_and_one_that_is_not_steady_are_reported() -> None:
    means = (1e5, 1.01e5, 1.02e5, 1.6e5, 1.61e5)
    judged = [run(mean, seed=n) for n, mean in enumerate(means)]
    assert gathered(*judged).is_bimodal
    assert not gathered(*judged[:3], run(1e5, seed=5), run(1e5, seed=6)).is_bimodal
    assert gathered(*judged).is_steady
    assert gathered(*(replace(j, is_steady=None) for j in judged)).is_steady
    assert not gathered(*judged[:4], replace(judged[4], is_steady=False)).is_steady


def test_two_groups_are_sought_in_the_quantile_that_decides() -> None:
    """p99 falls into two groups, p95 does not."""
    judged = []
    for n, factor in enumerate((1.0, 1.01, 1.02, 2.0, 2.02)):
        made = run(1e5, seed=n)
        reports = tuple(
            (q, ns and (factor * 5e5 if q == 0.99 else 3e5 + n * 5e3))
            for q, ns in made.run.quantiles
        )
        judged.append(replace(made, run=replace(made.run, quantiles=reports)))
    assert gathered(*judged).is_bimodal
    for q, is_split in ((0.99, True), (0.95, False)):
        qos = Qos(q=q, bound_ns=1e9, rule="")
        assert load_point.gather(judged, qos, None, None).is_bimodal is is_split


def test_offered_and_achieved_are_means_over_the_runs() -> None:
    runs_of = [run(1e5), run(1e5, seed=1)]
    fast = replace(runs_of[1].run, offered_rps=7_000.0, achieved_rps=6_000.0)
    judged = [runs_of[0], replace(runs_of[1], run=fast)]
    point = gathered(*judged)
    assert (point.offered_rps, point.achieved_rps) == (6_000, 5_500)


def test_the_distribution_has_steps_of_a_20th_of_a_decade_in_the_tail() -> None:
    shares = load_point._SHARES
    assert shares[0] == pytest.approx(0.01)
    assert np.diff(shares)[:59] == pytest.approx(0.89 / 59)
    assert 1 - shares[59] == pytest.approx(0.1)
    tail = 1 - shares[59:]
    assert tail[1:] / tail[:-1] == pytest.approx(10 ** (-1 / 20))
    assert tail[-1] == pytest.approx(1e-6)
    ten = gathered(run(1e5)).distribution  # of 10,000 the last has exactly ten above it: 99.9 %
    assert ten[-1][0] == pytest.approx(1 - 10**-2.95) or ten[-1][0] == pytest.approx(0.999)


def test_what_no_run_knows_is_no_number_with_its_reason() -> None:
    point = gathered(doubted(run(1e5)), doubted(run(1e5, seed=1)))
    for estimate in (point.mean, *point.quantiles):
        assert (estimate.requests, estimate.effective) == (0, 0)
        assert estimate.refused == "no run at this load is valid"
    assert point.distribution == ()
    assert (point.mean.q, point.quantiles[0].q) == (None, 0.5)


def test_the_most_frequent_reason_comes_first() -> None:
    def because(*reasons: str) -> Judged:
        made = doubted(run(1e5))
        return replace(made, run=replace(made.run, reasons=reasons))

    point = gathered(because("a"), because("b", "c"), because("b"))
    assert point.reasons == ("b", "a", "c")


def apart(judged: Judged, share: float) -> Judged:
    """The same run, of whose requests the slowest `share` were due while others had the CPU."""
    times = judged.measured.sojourn
    below = np.sort(times.hi_ns.repeat(times.count))[: round(times.n * (1 - share))]
    return replace(judged, measured=replace(judged.measured, undisturbed=from_values(below)))


def test_what_no_stop_of_the_server_reached_is_beside_what_was_experienced() -> None:
    result = gathered(apart(run(1e5), 0.1), apart(run(1e5, seed=1), 0.1))
    whole = next(e for e in result.quantiles if e.q == 0.99)
    assert result.undisturbed is not None
    assert result.undisturbed.q == 0.99
    assert result.disturbed_share == pytest.approx(0.1, abs=0.01)
    # Without the slowest tenth p99 is the quantile 0.99 · 0.9 of the whole: ln 9.17 over ln 100.
    assert result.undisturbed.value == pytest.approx((whole.value or 0) * 2.216 / 4.605, rel=0.05)


def test_a_run_that_was_disturbed_throughout_counts_as_disturbed() -> None:
    runs = [apart(run(1e5, seed=seed), share) for seed, share in enumerate((1.0, 0.2, 0.2))]
    result = gathered(*runs)
    assert result.disturbed_share == pytest.approx(1.4 / 3, abs=0.01)
    assert result.undisturbed is not None
    whole = gathered(apart(run(1e5), 1.0))
    assert (whole.undisturbed, whole.disturbed_share) == (None, 1.0)


def test_one_reading_is_enough_where_next_to_nothing_was_disturbed_or_no_one_watched() -> None:
    assert gathered(apart(run(1e5), 0.005)).undisturbed is None
    result = gathered(run(1e5))
    assert (result.undisturbed, result.disturbed_share) == (None, 0.0)


@pytest.mark.parametrize(
    ("verdict", "slowest_ns", "is_missed"),
    [
        (Verdict.VIOLATED, 3e6, True),
        (Verdict.VIOLATED, 1e6, False),  # other loads decide, and no request here was late
        (Verdict.UNKNOWN, 3e6, False),
    ],
)
def test_a_target_is_missed_where_verdict_and_own_requests_say_so(
    verdict: Verdict, slowest_ns: float, *, is_missed: bool
) -> None:
    qos = Qos(q=0.9, bound_ns=2e6, rule="")
    times = from_values(np.array([1e5] * 80 + [slowest_ns] * 20))
    assert load_point._missed(verdict, qos, times) == ((0.9, 2e6) if is_missed else None)
    assert load_point._missed(verdict, None, times) is None


@pytest.mark.parametrize("lost", [0, 3, 400])
def test_the_distribution_is_the_quantiles_and_looks_at_the_bins_once(
    lost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(7).exponential(1e5, 5_000).round(-3)
    together = replace(from_values(values), lost=lost)
    shares = [float(s) for s in load_point._SHARES if (1 - s) * together.n >= 10]
    wanted = tuple((share, together.quantile(share)) for share in shares)
    assert any(value == math.inf for _, value in wanted) == (lost > 100)

    def never(_times: Times, rank: int) -> tuple[float, float]:
        raise AssertionError(f"rank {rank} is looked up alone")

    monkeypatch.setattr(Times, "at_rank", never)
    assert load_point._distribution(together) == wanted
    assert load_point._distribution(EMPTY) == ()
