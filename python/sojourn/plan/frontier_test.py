"""Staircases: the sums against every staircase counted one by one, and what a run tells."""

from __future__ import annotations

import itertools
import math
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from sojourn.plan import frontier
from sojourn.plan.curve import Floats


def counted(weights: Floats) -> Floats:
    """The same by writing every staircase down."""
    own, other = weights.shape
    result, whole = np.zeros_like(weights), 0.0
    heights = [
        h
        for h in itertools.product(range(other + 1), repeat=own)
        if all(a >= b for a, b in itertools.pairwise(h))
    ]
    assert len(heights) == comb(own + other, own)
    for each in heights:
        holds = np.arange(other)[None, :] < np.array(each)[:, None]
        chance = math.exp(float((weights * holds).sum()))
        result += chance * holds
        whole += chance
    return result / whole


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 5), (4, 3)])
def test_it_is_the_sum_over_every_staircase(shape: tuple[int, int]) -> None:
    drawn = np.random.default_rng(7)
    for _ in range(20):
        weights = drawn.normal(0, 2, shape) * (drawn.random(shape) < 0.5)
        np.testing.assert_allclose(frontier.chances(weights), counted(weights), atol=1e-12)


def test_before_anything_is_measured_no_side_is_preferred() -> None:
    values = frontier.chances(np.zeros((7, 7)))
    np.testing.assert_allclose(values, 1 - values[::-1, ::-1], atol=1e-12)
    np.testing.assert_allclose(values, values.T, atol=1e-12)


def test_it_never_rises_with_either_load_and_stays_finite_with_much_evidence() -> None:
    weights = np.random.default_rng(3).normal(0, 300, (7, 7))
    values = frontier.chances(weights)
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=0) <= 1e-12).all()
    assert (np.diff(values, axis=1) <= 1e-12).all()


def test_a_run_reports_cells_that_no_one_measured() -> None:
    weights = np.zeros((7, 7))
    weights[3, 3] = 50.0
    values = frontier.chances(weights)
    assert (values[:4, :4] > 0.999).all()
    assert values[6, 6] < 0.5
    weights[3, 3] = -50.0
    assert (frontier.chances(weights)[3:, 3:] < 0.001).all()


def test_what_a_run_tells_is_a_ratio_of_likelihoods_and_is_bounded() -> None:
    """Against the likelihoods integrated numerically over a fine grid of shares of misses."""
    theta = (np.arange(400_000) + 0.5) / 400_000 * (math.pi / 2)
    share = np.sin(theta) ** 2  # evenly in theta is Jeffreys' prior
    for requests, over in ((200, 0), (200, 2), (200, 6), (1000, 5)):
        likelihood = np.asarray(binom.pmf(over, requests, share))
        meets, fails = likelihood[share <= 0.01].mean(), likelihood[share > 0.01].mean()
        ratio, misled = meets / fails, frontier.MISLED
        mixed = ((1 - misled) * ratio + misled) / (misled * ratio + 1 - misled)
        assert frontier.weight(requests, over, 0.99) == pytest.approx(math.log(mixed), abs=2e-3)
    assert frontier.weight(1e6, 0, 0.99) == pytest.approx(math.log(19))
    assert frontier.weight(1e6, 5e5, 0.99) == pytest.approx(-math.log(19))
    assert frontier.weight(0, 0, 0.99) == pytest.approx(0, abs=1e-12)


def test_an_even_cell_is_one_bit() -> None:
    assert frontier.entropy(np.array([0.0, 0.5, 1.0, 0.25])) == pytest.approx(
        [0, 1, 0, 2 - 0.75 * math.log2(3)]
    )
