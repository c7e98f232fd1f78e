"""M10: its golden numbers, its coverage, its refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from sojourn.analysis import quantiles
from sojourn.analysis.times import from_values


@pytest.mark.parametrize(("q", "n"), [(0.95, 110), (0.99, 563), (0.999, 5_661), (0.9999, 56_646)])
def test_the_smallest_sample_is_that_of_the_method(q: float, n: int) -> None:
    assert quantiles.smallest_sample(q) == n
    assert quantiles.ranks(n, q)[1] <= n
    assert quantiles.ranks(n - 1, q)[1] > n - 1


def test_fewer_are_refused_with_both_numbers() -> None:
    found = quantiles.estimate(from_values(np.arange(562.0)), 0.99)
    assert (found.value, found.interval) == (None, None)
    assert found.refused == "too few requests: p99 needs 563, there are 562"
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
        found = quantiles.estimate(from_values(np.arange(1.0, n + 1)), 0.99).interval
        assert found is not None
        assert (found.lo, found.hi) == quantiles.ranks(n, 0.99)


def test_coverage_of_a_skewed_sample_by_simulation() -> None:
    """2,000 samples: one sigma of a 95 % coverage is 0.5 points; at least 95 % less four sigma."""
    rng = np.random.default_rng(10)
    truth = math.log(100)
    covered = 0
    for _ in range(2_000):
        found = quantiles.estimate(from_values(rng.exponential(1.0, 1_000)), 0.99).interval
        assert found is not None
        covered += found.lo <= truth <= found.hi
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
        found = quantiles.estimate(times, 0.99, correlation=correlation).interval
        assert found is not None
        return found.hi - found.lo

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
