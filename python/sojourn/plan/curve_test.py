"""The grid of loads reaches down to the lowest load that was run."""

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
        assert reaching(0.99, least) is usual
    for least, count in ((0.1, 2), (0.02, 19), (1e-6, 40)):
        longer = reaching(0.99, least)
        assert len(longer.grid) == len(usual.grid) + count
        assert longer.grid[0] == pytest.approx(least)
        assert np.array_equal(longer.grid[count:], usual.grid)
        assert (np.diff(longer.grid) > 0).all()
        assert longer.floor[0] == 0
        assert np.diff(longer.floor[count:]) == pytest.approx(np.diff(usual.floor))


def test_the_usual_grid_is_that_of_all_runs_above_its_start() -> None:
    assert posterior_of(clean(0.5), over(0.9)).rps == tuple(curve(0.99).grid * PEAK)
    assert posterior_of(over(0.118)).rps == tuple(curve(0.99).grid * PEAK)
