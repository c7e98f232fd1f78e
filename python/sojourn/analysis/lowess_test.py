"""Local lines, the crossing, and what its interval covers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.nonparametric.smoothers_lowess import lowess as reference

from sojourn.analysis import lowess
from sojourn.analysis.times import Floats

LOADS = np.repeat(np.arange(0.1, 1.01, 0.1), 5)


def test_degree_is_one_an_exponential_is_kept_exactly() -> None:
    """Local lines reproduce a line; on the logarithm that is an exponential."""
    curve = lowess.fit(LOADS, 1e5 * np.exp(3 * LOADS))
    assert curve is not None
    assert curve.y == pytest.approx(1e5 * np.exp(3 * curve.x), rel=1e-9)
    assert curve.resampled.std(axis=0).max() < 1e-3


def test_the_matrix_is_statsmodels_fit() -> None:
    rng = np.random.default_rng(1)
    times = 1e5 / (1.05 - LOADS) * np.exp(rng.normal(0, 0.2, 50))
    curve = lowess.fit(LOADS, times)
    assert curve is not None
    wanted = reference(np.log(times), LOADS, frac=0.6, it=0, xvals=curve.x)
    assert np.log(curve.y) == pytest.approx(wanted, rel=1e-9)


def test_the_crossing_of_an_exact_curve_is_exact() -> None:
    curve = lowess.fit(LOADS, 1e5 * np.exp(3 * LOADS))
    assert curve is not None
    found = lowess.crossing(curve, 1e6)
    assert found.at == pytest.approx(math.log(10) / 3, abs=1e-3)
    assert not found.is_open


def noisy_queue(rng: np.random.Generator, capacity: float, repeats: int) -> tuple[Floats, Floats]:
    load = np.repeat(np.arange(0.1, 1.01, 0.1), repeats)
    return load, 1e5 / (capacity - load) * np.exp(rng.normal(0, 0.1, len(load)))


@pytest.mark.parametrize(("repeats", "bound"), [(1, 5e5), (2, 3e5), (3, 1e6), (5, 5e5)])
def test_the_interval_covers_the_crossing_of_a_queue(repeats: int, bound: float) -> None:
    """p99 1e5 / (1.02 − f), also where the bound lies in the knee; of 20 three sigma leave 16."""
    rng = np.random.default_rng(18)
    truth = 1.02 - 1e5 / bound
    covered = 0
    for seed in range(20):
        curve = lowess.fit(*noisy_queue(rng, 1.02, repeats), seed=seed)
        assert curve is not None
        found = lowess.crossing(curve, bound)
        covered += found.interval.lo <= truth <= found.interval.hi
    assert covered >= 16


def test_a_curve_that_stays_below_crosses_nowhere() -> None:
    curve = lowess.fit(LOADS, 1e5 * np.exp(3 * LOADS))
    assert curve is not None
    found = lowess.crossing(curve, 1e9)
    assert found.at is None
    assert found.is_open


def test_infinite_times_end_the_curve_below_them() -> None:
    times = 1e5 * np.exp(3 * LOADS)
    times[LOADS > 0.85] = math.inf
    curve = lowess.fit(LOADS, times)
    assert curve is not None
    assert curve.x[-1] == pytest.approx(0.8)


@pytest.mark.parametrize(("loads", "repeats", "dots"), [(4, 10, 31), (5, 20, 61), (4, 2, 7)])
def test_a_line_reaches_over_three_loads_and_one_dot_more(
    loads: int, repeats: int, dots: int
) -> None:
    x = np.repeat(np.arange(1.0, loads + 1), repeats)
    assert lowess._span(x) * len(x) == pytest.approx(dots)


def test_a_line_reaches_over_six_tenths_at_least_and_over_all_of_three_loads() -> None:
    assert lowess._span(np.repeat(np.arange(1.0, 11), 5)) == lowess.SPAN
    assert lowess._span(np.repeat(np.arange(1.0, 4), 5)) == 1.0


def test_three_loads_make_no_curve() -> None:
    load = np.repeat([0.1, 0.5, 0.9], 5)
    assert lowess.fit(load, np.full(15, 1e5)) is None
