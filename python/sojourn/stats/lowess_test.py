"""Local lines, the crossing, and what its interval covers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.nonparametric import smoothers_lowess
from statsmodels.nonparametric.smoothers_lowess import lowess as reference

from sojourn.stats import lowess
from sojourn.stats.times import Floats

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
    result = lowess.crossing(curve, 1e6)
    assert result.at == pytest.approx(math.log(10) / 3, abs=1e-3)
    assert not result.is_open


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
        result = lowess.crossing(curve, bound)
        covered += result.interval.lo <= truth <= result.interval.hi
    assert covered >= 16


def test_a_curve_that_stays_below_crosses_nowhere() -> None:
    curve = lowess.fit(LOADS, 1e5 * np.exp(3 * LOADS))
    assert curve is not None
    result = lowess.crossing(curve, 1e9)
    assert result.at is None
    assert result.is_open


def test_infinite_times_end_the_curve_below_them() -> None:
    times = 1e5 * np.exp(3 * LOADS)
    times[LOADS > 0.85] = math.inf
    curve = lowess.fit(LOADS, times)
    assert curve is not None
    assert curve.x[-1] == pytest.approx(0.8)


def test_runs_that_did_well_among_lost_ones_do_not_lengthen_the_curve() -> None:
    """At 70 % two of three runs lost requests; who asks only the others finds no crossing."""
    load = np.repeat(np.arange(0.1, 1.01, 0.1), 3)
    times = np.full(30, 1e5)
    times[(load > 0.65) & (np.arange(30) % 3 > 0)] = math.inf
    curve = lowess.fit(load, times)
    assert curve is not None
    assert curve.x[-1] == pytest.approx(0.6)
    times[(load > 0.65)] = 1e5
    times[-2:] = math.nan  # refused, which is not infinite
    times[0] = math.inf  # one of three says little of its load
    curve = lowess.fit(load, times)
    assert curve is not None
    assert (curve.x[0], curve.x[-1]) == pytest.approx((0.1, 1.0))


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


def test_four_loads_make_a_curve_and_times_of_nothing_are_left_out() -> None:
    load = np.repeat([0.1, 0.3, 0.5, 0.7], 2)
    times = 1e5 * np.exp(load)
    assert lowess.fit(load, times) is not None
    times[:2] = 0.0
    assert lowess.fit(load, times) is None
    times[:2] = np.nan
    assert lowess.fit(load, times) is None


def test_the_means_of_a_load_are_geometric_and_runs_come_in_any_order() -> None:
    load = np.array([0.4, 0.1, 0.3, 0.1, 0.2, 0.2])
    times = np.array([32.0, 1.0, 8.0, 4.0, 3.0, 3.0])
    curve = lowess.fit(load, times)
    assert curve is not None
    assert curve.loads == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert curve.means[0] == pytest.approx([2.0, 3.0, 8.0, 32.0])
    assert curve.means.shape == (1 + len(curve.resampled), 4)
    assert curve.x[[0, -1]] == pytest.approx([0.1, 0.4])


def test_a_dot_errs_as_its_repeats_do_but_not_less_than_all_repeats_together() -> None:
    """Squares 2·1, 2·9 and a lone dot: pooled √(20/2); the lone dot's from the curve."""
    x = np.array([1.0, 1.0, 2.0, 2.0, 3.0])
    y = np.array([1.0, 3.0, 10.0, 16.0, 7.0])
    at_dots = np.full((5, 5), 0.1)
    at_dots[4, 4] = 0.6
    values = lowess._residuals(x, y, at_dots @ y, np.diag(at_dots))
    pooled = math.sqrt(20 / 2)
    fitted = 0.1 * (1 + 3 + 10 + 16) + 0.6 * 7
    assert values == pytest.approx(
        [pooled, pooled, math.sqrt(18), math.sqrt(18), abs(7 - fitted) / 0.4]
    )
    sure = np.eye(3)  # a curve through every dot: the leverage counts as 0.9
    sure[1, 1] = 1.5
    y = np.array([1.0, 2.0, 3.0])
    values = lowess._residuals(np.arange(3.0), y, sure @ y, np.diag(sure))
    assert values == pytest.approx([0.0, 10.0, 0.0])


@pytest.mark.parametrize(("loads", "repeats"), [(10, 1), (10, 5), (4, 7), (25, 3)])
def test_dots_at_one_load_weigh_alike_and_are_fitted_once(
    loads: int, repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The curve through all dots is the sum of what each load adds; its cost is that of loads."""
    x = np.repeat(np.linspace(0.1, 1.0, loads) ** 1.3, repeats)
    y = np.random.default_rng(loads).normal(size=len(x))
    grid = np.linspace(x[0], x[-1], 33)
    wanted = reference(y, x, frac=lowess._span(x), it=0, xvals=grid)
    fits = []

    def counted(unit: Floats, at: Floats, **how: object) -> Floats:
        fits.append(unit)
        return np.asarray(reference(unit, at, **how), np.float64)

    monkeypatch.setattr(smoothers_lowess, "lowess", counted)
    sums = np.array([y[x == load].sum() for load in np.unique(x)])
    assert lowess._matrix(x, grid) @ sums == pytest.approx(wanted, abs=1e-9)
    assert len(fits) == loads


def test_a_line_rises_above_the_bound_where_its_chord_does() -> None:
    x, y = np.array([0.2, 0.4, 0.8]), np.array([1.0, 10.0, 1000.0])
    assert lowess._first_above(x, y, 100.0) == pytest.approx(0.6)  # half-way on the logarithm
    # On the reciprocal: 1/10 − 1/100 of 1/10 − 1/1000.
    assert lowess._first_above(x, y, 100.0, is_reciprocal=True) == pytest.approx(
        0.4 + 0.4 * 0.09 / 0.099
    )
    assert lowess._first_above(x, y, 0.5) == 0.2
    assert lowess._first_above(x, y, 10.0) == pytest.approx(0.4)
    assert lowess._first_above(x, y, 1000.0) == math.inf
    assert lowess._first_above(x, np.array([1.0, 10.0, 5.0]), 4.0) == pytest.approx(
        0.2 + 0.2 * math.log(4) / math.log(10)
    )


def drawn(crossings: Floats, means_at: float) -> lowess.Curve:
    """Curves that rise in one step at each of `crossings`, and means that do at `means_at`."""
    x = np.linspace(0.0, 1.0, 1001)
    rows = np.where(x[None, :] < crossings[:, None], 1.0, 100.0)
    loads = np.array([0.0, means_at - 1e-6, means_at, 1.0])
    means = np.tile([1.0, 1.0, 100.0, 100.0], (len(crossings) + 1, 1))
    return lowess.Curve(x=x, y=rows[0], resampled=rows, loads=loads, means=means)


def test_the_interval_leaves_out_a_fortieth_at_either_side_and_holds_all_three_curves() -> None:
    """400 resamples that cross at 0.3 to 0.7: the eleventh and the last but ten."""
    at = np.linspace(0.3, 0.7, 401)
    result = lowess.crossing(drawn(at, 0.5), 50.0)
    assert (result.interval.lo, result.interval.hi) == pytest.approx((0.31, 0.69), abs=2e-3)
    assert result.at == pytest.approx(0.3, abs=1.1e-3)
    narrow = lowess.crossing(drawn(at, 0.5), 50.0, confidence=0.5)
    assert (narrow.interval.lo, narrow.interval.hi) == pytest.approx((0.4, 0.6), abs=2e-3)
    low, high = (lowess.crossing(drawn(at, mean), 50.0).interval for mean in (0.1, 0.9))
    assert (low.lo, low.hi) == pytest.approx((0.1, 0.69), abs=2e-3)
    assert (high.lo, high.hi) == pytest.approx((0.31, 0.9), abs=2e-3)


@pytest.mark.parametrize(("never", "is_open"), [(9, False), (12, True)])
def test_the_upper_end_is_open_where_more_than_a_fortieth_never_cross(
    never: int, *, is_open: bool
) -> None:
    at = np.full(400, 0.5)
    at[400 - never :] = 2.0
    result = lowess.crossing(drawn(at, 0.5), 50.0)
    assert result.is_open is is_open
    assert result.interval.hi == pytest.approx(1.0 if is_open else 0.5, abs=2e-3)
