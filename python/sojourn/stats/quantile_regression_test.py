"""Planted effects are found with intervals that cover; what is null is named at 5 % at most."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sojourn.stats import quantile_regression
from sojourn.stats.quantile_regression import MOVES

CELLS = tuple(itertools.product((0, 1), repeat=2))
GRID = (np.arange(100) + 0.5) / 100


def _blocks(
    rng: np.random.Generator, a: float, b: float, ab: float, count: int = 6
) -> list[dict[tuple[int, ...], np.ndarray]]:
    """Exponential times whose scale has these log ratios, with a noise of each run."""
    scale = {
        cell: a * (cell[0] - 0.5) + b * (cell[1] - 0.5) + ab * (cell[0] - 0.5) * (cell[1] - 0.5)
        for cell in CELLS
    }
    return [
        {
            cell: -np.log(1 - GRID) * 1e5 * np.exp(scale[cell] + rng.normal(0, 0.05))
            for cell in CELLS
        }
        for _ in range(count)
    ]


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantile_regression, "DRAWS", 400)


def test_planted_effects_are_found_and_a_null_factor_is_not_named() -> None:
    result = quantile_regression.fit(
        _blocks(np.random.default_rng(1), 0.5, 0.0, 0.0), ("a", "b"), 0.9, seed=1
    )
    a, b, both = result.terms
    assert a.said == MOVES
    assert a.interval.lo < np.exp(0.5) < a.interval.hi
    assert MOVES not in {b.said, both.said}
    assert 0.01 < result.pseudo_r2 < 1


def test_an_interaction_is_found() -> None:
    result = quantile_regression.fit(
        _blocks(np.random.default_rng(2), 0.0, 0.0, 0.8), ("a", "b"), 0.9, seed=1
    )
    assert [term.said == MOVES for term in result.terms] == [False, False, True]
    assert result.terms[2].factors == ("a", "b")
    assert result.terms[2].ratio == pytest.approx(np.exp(0.8), rel=0.25)


def test_a_fit_of_a_block_is_the_ratio_of_its_quantiles() -> None:
    blocks = _blocks(np.random.default_rng(3), 0.3, 0.1, 0.0, count=3)
    result = quantile_regression.fit(blocks, ("a", "b"), 0.9, seed=1)
    tails = [{cell: np.log(np.quantile(ns, 0.9)) for cell, ns in block.items()} for block in blocks]
    by_hand = np.mean([(t[1, 0] + t[1, 1] - t[0, 0] - t[0, 1]) / 2 for t in tails])
    assert np.log(result.terms[0].ratio) == pytest.approx(by_hand, abs=0.06)


def test_too_few_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="2 whole blocks, 3 are needed"):
        quantile_regression.fit(
            _blocks(np.random.default_rng(4), 0, 0, 0, count=2), ("a", "b"), 0.9, seed=1
        )


@pytest.mark.parametrize("count", [4, 8])
def test_intervals_cover_and_nothing_is_found_where_nothing_is(count: int) -> None:
    rng, runs, names = np.random.default_rng(5), 200, (("a",), ("b",), ("a", "b"))
    inside = named = seems = 0
    for _ in range(runs):
        terms = quantile_regression.judged(rng.normal(0, 1, (count, 3)), names, 0.99, rng)
        inside += sum(term.interval.lo <= 1 <= term.interval.hi for term in terms)
        named += any(term.said == MOVES for term in terms)
        seems += sum(term.p < 0.05 for term in terms)
    assert inside >= (0.95 - 4 * 0.0089) * 3 * runs  # four sigma of 600
    assert named <= (0.05 + 4 * 0.0154) * runs  # of all terms together
    assert seems <= (0.05 + 4 * 0.0089) * 3 * runs
