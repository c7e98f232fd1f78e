"""Components of noise: planted ones lie in their intervals, and a library finds the same."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

from sojourn.stats.times import Floats
from sojourn.stats.variance_components import Components, components

TIMES = np.arange(20.0)
SERIES = 200
LEAST = 0.85  # of the intervals, each of which is to cover 95 %


def made(rng: np.random.Generator, starts: float, windows: float, slope: float) -> Floats:
    """20 runs of 6 windows."""
    of_starts = rng.normal(0, 1, (20, 1)) * starts + slope * TIMES[:, None]
    return of_starts + rng.normal(0, 1, (20, 6)) * windows


def known(values: Floats) -> Components:
    result = components(list(values), list(TIMES))
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("starts", "windows", "slope"),
    [(0.05, 0.05, 0.0), (0.02, 0.10, 0.005), (0.0, 0.05, 0.0), (0.05, 0.01, -0.01)],
)
def test_planted_components_lie_in_their_intervals(
    starts: float, windows: float, slope: float
) -> None:
    rng = np.random.default_rng(1)
    hits = np.zeros(4)
    for _ in range(SERIES):
        result = known(made(rng, starts, windows, slope))
        drift = abs(slope) * float(TIMES.std())
        ends = (
            (result.starts.interval, starts),
            (result.windows.interval, windows),
            (result.slope_interval, slope),
            (result.drift.interval, drift),
        )
        hits += [one.lo <= value <= one.hi for one, value in ends]
    # So many hits of 200 are not likely by chance if an interval covered less.
    assert min(hits) >= stats.binom.ppf(0.95, SERIES, LEAST)


def stalled(rng: np.random.Generator, runs: int, windows: int) -> Floats:
    """Windows of runs in which a stall comes every 30 windows and makes up to four longer."""
    values = rng.normal(0, 0.2, (runs, windows))
    for run in values:
        for at in range(int(rng.integers(30)), windows, 30):
            run[at : at + int(rng.integers(1, 5))] += rng.uniform(1, 3)
    return values


def test_windows_that_depend_on_each_other_have_an_interval_that_covers() -> None:
    rng = np.random.default_rng(5)
    truth = float(np.sqrt(stalled(rng, 20_000, 41).var(axis=1, ddof=1).mean()))
    hits = 0
    for _ in range(SERIES):
        result = components(list(stalled(rng, 12, 41)), list(range(12)))
        assert result is not None
        ends = result.windows.interval
        hits += ends.lo <= truth <= ends.hi
    assert hits >= stats.binom.ppf(0.95, SERIES, LEAST)


def test_a_library_finds_the_same_by_restricted_maximum_likelihood() -> None:
    import statsmodels.api as sm  # noqa: PLC0415  # it loads for a second

    values = made(np.random.default_rng(7), 0.05, 0.05, 0.004)
    result = known(values)
    groups = np.repeat(np.arange(20), 6)
    design = sm.add_constant(np.repeat(TIMES, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.MixedLM(values.ravel(), design, groups).fit(reml=True)
    assert result.starts.sigma**2 == pytest.approx(float(model.cov_re.ravel()[0]), rel=1e-3)
    assert result.windows.sigma**2 == pytest.approx(float(model.scale), rel=1e-3)
    assert result.slope == pytest.approx(float(model.params[1]), rel=1e-6)


def test_the_drift_is_not_counted_as_scatter_of_starts() -> None:
    result = known(made(np.random.default_rng(2), 0.0, 0.01, 0.05))
    assert result.starts.sigma < 0.02 < result.drift.interval.lo


def test_too_little_is_no_component() -> None:
    assert components([[1.0, 2.0]] * 4, [0.0, 1.0, 2.0, 3.0]) is None
    assert components([[1.0, np.nan]] * 9, list(range(9))) is None
    assert components([[1.0, 2.0]] * 9, [0.0] * 9) is None


def test_runs_of_unlike_length_count_by_their_windows() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(SERIES):
        values = made(rng, 0.03, 0.03, 0.0)
        cut = [row[: 4 + number % 3] for number, row in enumerate(values)]
        result = components(cut, list(TIMES))
        assert result is not None
        hits += result.starts.interval.lo <= 0.03 <= result.starts.interval.hi
    assert hits >= stats.binom.ppf(0.95, SERIES, LEAST)
