"""Ends of draws cover as they say, of few units as of many."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sojourn.stats import bootstrap

TIMES, DRAWS, TAIL = 600, 1000, 0.025


def coverage(units: int, below: float) -> float:
    """How often the mean of so many normal units lies within the ends of their draws."""
    rng = np.random.default_rng(units)
    values = rng.standard_normal((TIMES, units))
    drawn = rng.multinomial(units, np.full(units, 1 / units), size=DRAWS) / units
    means = np.sort(values @ drawn.T, axis=1)
    first = math.floor(below * (DRAWS - 1))
    return float(((means[:, first] <= 0) & (means[:, DRAWS - 1 - first] >= 0)).mean())


@pytest.mark.parametrize("units", [6, 8, 20])
def test_ends_of_few_units_cover(units: int) -> None:
    sigma = math.sqrt(0.05 * 0.95 / TIMES)
    assert coverage(units, bootstrap.left_out(TAIL, units)) > 0.95 - 4 * sigma


@pytest.mark.parametrize("units", [6, 8])
def test_plain_quantiles_of_draws_would_not(units: int) -> None:
    assert coverage(units, TAIL) < 0.92


def test_of_many_units_both_are_the_same() -> None:
    assert bootstrap.left_out(TAIL, 10_000) == pytest.approx(TAIL, rel=1e-3)
    assert bootstrap.left_out(TAIL, 6) < bootstrap.left_out(TAIL, 7) < TAIL
