"""Shapes of arrivals: how often Poisson is refused, and others are seen."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.referee.shape import ALPHA, shape
from sojourn.referee.simulated_testing import paced, poisson


@pytest.mark.parametrize("seconds", [1.3, 6.0])
def test_a_poisson_process_is_called_another_one_as_rarely_as_stated(seconds: float) -> None:
    runs = 400
    wrong = sum(
        shape([poisson(1000, seconds, seed)]).kind not in {"poisson", "unclear"}
        for seed in range(runs)
    )
    expected = ALPHA * runs
    assert wrong <= expected + 5 * np.sqrt(expected), "five sigma"


def test_most_poisson_processes_are_recognised() -> None:
    kinds = [shape([poisson(1000, 30, seed)]).kind for seed in range(40)]
    assert kinds.count("poisson") >= 36


def test_a_metronome_is_paced_with_jitter_too() -> None:
    draw = np.random.default_rng(1)
    exact = paced(2000, 10)
    late = np.sort(exact + draw.integers(0, 400_000, exact.size))
    assert shape([exact]).kind == shape([late]).kind == "paced"


def test_many_paced_connections_are_paced() -> None:
    draw = np.random.default_rng(2)
    each = [paced(20, 20) + draw.integers(0, 50_000_000) for _ in range(100)]
    assert shape([np.sort(np.concatenate(each))]).kind == "paced"


def test_batches_are_clumped() -> None:
    batches = np.repeat(paced(50, 20), 20)
    assert shape([batches + np.arange(batches.size) % 20]).kind == "clumped"


def test_a_rate_that_changes_is_uneven() -> None:
    halves = [poisson(800, 20, 3), poisson(1200, 20, 4) + 20_000_000_000]
    assert shape([np.concatenate(halves)]).kind == "uneven"


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_few_arrivals_have_no_shape(n: int) -> None:
    assert shape([np.arange(n, dtype=np.int64) * 1_000_000]).kind == "unclear"
    assert shape([]).kind == "unclear"
