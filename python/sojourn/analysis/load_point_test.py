"""Runs at one load together: merged within, Student's across restarts, decided by the model."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis import load_point, runs
from sojourn.analysis.findings import LoadPoint, Qos
from sojourn.analysis.runs import Judged
from sojourn.analysis.testing import measured
from sojourn.plan import Phase, Point, Verdict
from sojourn.plan.posterior import Posterior

POINT = Point(
    key="s/sweep/b0/f0.50", service="s", phase=Phase.SWEEP, offered_rps=5_000.0, fraction=0.5,
    measure_s=2.0, warmup_s=0.0, seed=1,
)  # fmt: skip
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
    said = None if p is None else Posterior(rps=(1_000.0, 9_000.0), holds=(p, p))
    qos = Qos(q=0.99, bound_ns=1e6, rule="given") if said else None
    return load_point.gather(judged, qos, max_rps, said)


def student(values: list[float]) -> tuple[float, float]:
    mean, half = float(np.mean(values)), 0.0
    half = T_95[len(values)] * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return mean - half, mean + half


@pytest.mark.parametrize("means", [(1e5, 1.1e5, 1.3e5), (1e5, 1.1e5, 1.3e5, 1.2e5)])
def test_the_spread_of_restarts_stands_beside_the_interval_within(means: tuple[float, ...]) -> None:
    """Starts that differ by a tenth: no number of requests within them says so."""
    judged = [run(mean, seed=n) for n, mean in enumerate(means)]
    point = gathered(*judged)
    for estimate in (point.mean, *point.quantiles):
        if estimate.q == 0.999:
            continue
        own = [j.run.mean_ns if estimate.q is None else dict(j.run.quantiles)[estimate.q]
               for j in judged]  # fmt: skip
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
    [(None, "holds"), (0.96, "holds"), (0.95, "holds"), (0.94, "unknown"), (0.06, "unknown"),
     (0.04, "violated")],
)  # fmt: skip
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
