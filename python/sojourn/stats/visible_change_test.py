"""What so many blocks show, against simulated gates and chi-squared."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sojourn.stats import gate_rule, visible_change

ALPHA, LIMIT, SCATTER = 0.01, 0.05, 0.05
BLOCKS, GATES = 80, 60
FAR = 1e-4  # chance that a right share fails a test


def regressions(change: float, seed: int) -> int:
    """How many of the simulated gates alarm at this change and confirm it."""
    logs = np.random.default_rng(seed).normal(math.log1p(change), SCATTER, (GATES, BLOCKS))
    return sum(gate_rule.decide({"p50": one}, LIMIT, ALPHA).is_regression for one in logs)


def test_a_gate_confirms_what_it_is_reported_to_see_nine_times_of_ten() -> None:
    seen = visible_change.gate_change_in(BLOCKS, SCATTER, ALPHA, LIMIT)
    assert seen is not None
    assert seen > LIMIT
    assert regressions(seen, 11) >= stats.binom.ppf(FAR, GATES, 0.9)


def test_what_a_comparison_sees_may_be_within_the_limit_of_a_gate() -> None:
    seen = visible_change.change_in(BLOCKS, SCATTER, ALPHA)
    assert seen is not None
    assert seen <= LIMIT
    assert regressions(seen, 12) <= stats.binom.ppf(1 - FAR, GATES, ALPHA)


def test_both_stages_of_a_gate_fit_into_the_blocks_and_no_smaller_change_does() -> None:
    def needed(change: float) -> float:
        levels = (ALPHA, gate_rule.CONFIRM)
        stages = [visible_change.blocks_for(change, SCATTER, each, LIMIT) for each in levels]
        return sum(math.inf if blocks is None else blocks for blocks in stages)

    for blocks in (20, 40, BLOCKS):
        seen = visible_change.gate_change_in(blocks, SCATTER, ALPHA, LIMIT)
        assert seen is not None
        assert needed(seen) <= blocks < needed(seen - 0.01)
    # A pair nearly doubles the evidence: 100 takes seven pairs or more, and 10 takes four.
    assert visible_change.gate_change_in(10, SCATTER, ALPHA, LIMIT) is None


def test_a_tail_that_scatters_takes_a_gate_the_blocks_that_its_page_states() -> None:
    """docs/howto/compare.md: pairs of p99 that scatter by 33 %, and a limit of 5 %."""
    blocks = visible_change.gate_blocks(2 * LIMIT, 0.33, ALPHA, LIMIT)
    assert blocks is None or blocks >= 1000


@pytest.mark.parametrize("count", [5, 12])
def test_the_scatter_about_a_line_lies_above_the_true_one_four_times_of_five(count: int) -> None:
    rng = np.random.default_rng(13)
    at = np.arange(count, dtype=float)
    logs = 0.2 + 0.03 * at + rng.normal(0, SCATTER, (1000, count))
    slope, base = np.polyfit(at, logs.T, 1)
    rest = logs - slope[:, None] * at - base[:, None]
    upper = np.array([visible_change.scatter(row, taken=2) for row in rest])
    squares = (rest**2).sum(axis=1)
    assert upper == pytest.approx(np.sqrt(squares / stats.chi2.ppf(0.2, count - 2)))
    assert np.mean(upper > SCATTER) == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / 1000))


def test_as_many_values_as_parameters_show_no_scatter() -> None:
    values = np.array([0.1, 0.3, 0.2, 0.4])
    assert visible_change.scatter(values, taken=4) == math.inf
    assert math.isfinite(visible_change.scatter(values, taken=2))
