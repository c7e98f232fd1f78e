"""The grid of loads reaches to the lowest and the highest load that were run."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.plan.curve import curve, reaching
from sojourn.plan.posterior_test import PEAK, clean, over, posterior_of


def test_loads_below_the_usual_grid_have_a_verdict_each() -> None:
    """1k, 2k and 5k of 50k were one load, because the grid began at 6k."""
    runs = [*[clean(0.02)] * 60, *[clean(0.04)] * 30, *[over(0.1)] * 8, *[over(1.0)] * 3]
    result = posterior_of(*runs)
    assert result.rps[0] == pytest.approx(0.02 * PEAK)
    assert result.holds_at(0.02 * PEAK) >= result.holds_at(0.04 * PEAK) > 0.5
    assert result.holds_at(0.1 * PEAK) < 0.05
    lo, hi = result.interval()
    assert hi < 0.11 * PEAK, "it is known to lie below what failed"
    assert lo <= 0.1 * PEAK


def test_the_grid_reaches_down_to_what_was_run_in_few_steps() -> None:
    usual = curve(0.99)
    for least in (1.0, 0.12, 0.116):
        assert reaching(0.99, least, 1.0) is usual
    for least, count in ((0.1, 2), (0.02, 19), (1e-6, 40)):
        longer = reaching(0.99, least, 1.0)
        assert len(longer.grid) == len(usual.grid) + count
        assert longer.grid[0] == pytest.approx(least)
        assert np.array_equal(longer.grid[count:], usual.grid)
        assert (np.diff(longer.grid) > 0).all()
        assert longer.floor[0] == 0
        assert np.diff(longer.floor[count:]) == pytest.approx(np.diff(usual.floor))


def test_a_failure_far_above_the_peak_says_nothing_of_loads_just_above_it() -> None:
    """The closed loop was too slow by half: all loads above 1.3 of it were one load."""
    runs = [*[clean(0.9)] * 4, *[clean(1.2)] * 8]
    lo, hi = posterior_of(*runs, *[over(2.0)] * 8).interval()
    assert lo > 1.15 * PEAK
    assert hi > 1.6 * PEAK, "anything between 1.2 and 2 explains the runs"
    result = posterior_of(*runs, *[clean(1.6)] * 8, *[over(2.0)] * 8)
    assert result.rps[-1] == pytest.approx(2.0 * PEAK)
    lo, hi = result.interval()
    assert 1.5 * PEAK < lo < hi < 2.05 * PEAK


def test_the_grid_reaches_up_to_what_was_run_in_few_steps() -> None:
    usual = curve(0.99)
    top = float(usual.grid[-1])
    for most in (0.01, 1.0, 1.3, top * 1.012):
        assert reaching(0.99, 1.0, most) is usual
    for most, count in ((top * 1.013, 1), (2.0, 17), (1e6, 40)):
        longer = reaching(0.99, 0.1, most)
        assert len(longer.grid) == 2 + len(usual.grid) + count
        assert longer.grid[-1] == pytest.approx(most)
        assert np.array_equal(longer.grid[2:-count], usual.grid)
        assert (np.diff(longer.grid) > 0).all()


def test_the_usual_grid_is_that_of_all_runs_within_it() -> None:
    assert posterior_of(clean(0.5), over(0.9)).rps == tuple(curve(0.99).grid * PEAK)
    assert posterior_of(over(0.118)).rps == tuple(curve(0.99).grid * PEAK)
