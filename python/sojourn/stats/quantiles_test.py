"""M10: its golden numbers, its coverage, its refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from sojourn.stats import quantiles
from sojourn.stats.interval import Interval
from sojourn.stats.times import EMPTY, from_values


@pytest.mark.parametrize(("q", "n"), [(0.95, 110), (0.99, 563), (0.999, 5_661), (0.9999, 56_646)])
def test_the_smallest_sample_is_that_of_the_method(q: float, n: int) -> None:
    assert quantiles.smallest_sample(q) == n
    assert quantiles.ranks(n, q)[1] <= n
    assert quantiles.ranks(n - 1, q)[1] > n - 1


def test_fewer_are_refused_with_both_numbers() -> None:
    result = quantiles.estimate(from_values(np.arange(562.0)), 0.99)
    assert (result.value, result.interval) == (None, None)
    assert result.refused == "too few requests: p99 needs 563, there are 562"
    assert quantiles.estimate(from_values(np.arange(563.0)), 0.99).value is not None


@pytest.mark.parametrize("q", [0.5, 0.9, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.9986])
def test_the_ranks_cover_at_least_what_they_promise_exactly(q: float, confidence: float) -> None:
    least = quantiles.smallest_sample(q, confidence=confidence)
    for n in np.unique(np.geomspace(least, 1_000 * least, 150).astype(int)):
        low, high = quantiles.ranks(n, q, confidence=confidence)
        missed_low = binom.cdf(low - 1, n, q) if low >= 1 else 0.0
        assert binom.cdf(high - 1, n, q) - missed_low >= confidence - 1e-9, n


def test_the_interval_s_ends_are_the_values_at_the_ranks_of_its_quantile() -> None:
    """Values that are their own ranks: nothing is rounded away where n is its own n_eff."""
    for n in (600, 1_000, 7_919):
        interval = quantiles.estimate(from_values(np.arange(1.0, n + 1)), 0.99).interval
        assert interval is not None
        assert (interval.lo, interval.hi) == quantiles.ranks(n, 0.99)


def test_coverage_of_a_skewed_sample_by_simulation() -> None:
    """2,000 samples: one sigma of a 95 % coverage is 0.5 points; at least 95 % less four sigma."""
    rng = np.random.default_rng(10)
    truth = math.log(100)
    covered = 0
    for _ in range(2_000):
        interval = quantiles.estimate(from_values(rng.exponential(1.0, 1_000)), 0.99).interval
        assert interval is not None
        covered += interval.lo <= truth <= interval.hi
    assert covered / 2_000 >= 0.95 - 4 * 0.0049


def test_lost_requests_are_infinite_in_the_order() -> None:
    raw = np.concatenate([np.arange(980.0), np.full(20, math.inf)])
    times = from_values(raw)
    assert quantiles.estimate(times, 0.99).value == math.inf
    p98 = quantiles.estimate(times, 0.98)
    assert p98.value == 979
    assert p98.interval is not None
    assert p98.interval.hi == math.inf
    mean = quantiles.mean_estimate(times)
    assert mean.value is None
    assert mean.refused == "20 of 1000 requests never completed: their mean is infinite"


def test_dependence_widens_then_opens_then_refuses() -> None:
    times = from_values(np.arange(10_000.0))

    def width(correlation: float) -> float:
        interval = quantiles.estimate(times, 0.99, correlation=correlation).interval
        assert interval is not None
        return interval.hi - interval.lo

    assert width(1) == pytest.approx(2 * 1.96 * math.sqrt(10_000 * 0.99 * 0.01), abs=3)
    assert width(4) == pytest.approx(2 * width(1), rel=0.1)
    assert width(30) == math.inf  # 333 effective: bounded from below only
    refused = quantiles.estimate(times, 0.99, correlation=60)
    assert refused.value is None
    assert refused.refused == (
        "too few requests: p99 needs 200 independent ones; "
        "the 10,000 measured here depend on each other and count as 167"
    )


def test_a_bin_gives_its_width_to_the_interval() -> None:
    values = np.random.default_rng(1).uniform(1_000, 2_000, 5_000)
    exact = quantiles.estimate(from_values(values), 0.9).interval
    floor = np.floor(values / 50) * 50
    lo, count = np.unique(floor, return_counts=True)
    bins = from_values(values)
    bins = type(bins)(lo_ns=lo, hi_ns=lo + 49.999, count=count.astype(np.int64))
    wide = quantiles.estimate(bins, 0.9).interval
    assert exact is not None
    assert wide is not None
    assert wide.lo <= exact.lo <= exact.hi <= wide.hi


@pytest.mark.parametrize(("confidence", "t"), [(0.95, 2.009575), (0.9, 1.676551)])
def test_the_mean_has_student_s_interval_on_the_effective_number(
    confidence: float, t: float
) -> None:
    """0 to 199 count as 50: t with 49 degrees of freedom, deviation √(200·201/12)."""
    times = from_values(np.arange(200.0))
    estimate = quantiles.mean_estimate(times, correlation=4, confidence=confidence)
    assert (estimate.q, estimate.value, estimate.requests, estimate.effective) == (
        None,
        99.5,
        200,
        50,
    )
    half = t * math.sqrt(200 * 201 / 12 / 50)
    assert estimate.interval is not None
    assert (estimate.interval.lo, estimate.interval.hi) == pytest.approx((99.5 - half, 99.5 + half))


def test_a_mean_of_times_is_not_negative_and_needs_thirty() -> None:
    skewed = np.zeros(30)
    skewed[0] = 3_000.0
    interval = quantiles.mean_estimate(from_values(skewed)).interval
    assert interval is not None
    assert (interval.lo, interval.hi) == pytest.approx((0.0, 100 + 2.04523 * 100), rel=1e-4)
    few = quantiles.mean_estimate(from_values(np.arange(29.0)))
    assert few.interval is None
    assert few.refused == (
        "too few requests: the mean needs 30 independent ones, the 29 measured here count as 29"
    )
    assert quantiles.mean_estimate(from_values(np.arange(100.0)), correlation=5).value is None
    assert quantiles.mean_estimate(EMPTY).refused == "nothing was measured"
    lost = quantiles.mean_estimate(from_values(np.full(3, math.inf)))
    assert lost.refused == "no request completed"
    # A ratio below 1 would make more of the requests than there are.
    assert quantiles.mean_estimate(from_values(skewed), correlation=0.1).effective == 30
    assert quantiles.estimate(from_values(np.arange(9.0)), 0.5, correlation=0.1).effective == 9


def test_ranks_of_fewer_effective_requests_are_stretched_outward() -> None:
    """Values that are their own ranks; 10,000 count as 2,500, ranks of these four times as far."""
    times = from_values(np.arange(1.0, 10_001))
    interval = quantiles.estimate(times, 0.99, correlation=4).interval
    lower, upper = quantiles.ranks(2_500, 0.99)
    assert interval is not None
    assert (interval.lo, interval.hi) == (4 * lower, 4 * upper)
    odd = quantiles.estimate(times, 0.99, correlation=3).interval
    lower, upper = quantiles.ranks(10_000 / 3, 0.99)
    assert odd is not None
    assert (odd.lo, odd.hi) == (3 * lower, 3 * upper)


def test_the_last_quantile_that_is_given_has_two_independent_requests_above_it() -> None:
    times = from_values(np.arange(10_000.0))
    assert quantiles.estimate(times, 0.99, correlation=49.9).value is not None
    assert quantiles.estimate(times, 0.99, correlation=50.1).value is None
    open_ = quantiles.estimate(times, 0.99, correlation=49.9).interval
    assert open_ is not None
    assert open_.hi == math.inf
    # From 563 independent ones on p99 is bounded from above (a few more with parts of one).
    closed = quantiles.estimate(times, 0.99, correlation=10_000 / 570).interval
    assert closed is not None
    assert math.isfinite(closed.hi)
    below = quantiles.estimate(times, 0.99, correlation=10_000 / 562).interval
    assert below is not None
    assert below.hi == math.inf


def test_what_is_known_across_restarts_is_handed_through() -> None:
    across = Interval(lo=1.0, hi=2.0)
    times = from_values(np.arange(1_000.0))
    assert quantiles.estimate(times, 0.5, across_restarts=across).across_restarts == across
    assert quantiles.mean_estimate(times, across_restarts=across).across_restarts == across
