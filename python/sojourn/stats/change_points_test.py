"""Steps in a series: the capital is fair, looks at no future, and grows after a step."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest

from sojourn.stats import change_points
from sojourn.stats.change_points import OLD_LEAST, adjusted, evidence
from sojourn.stats.times import Floats

ENOUGH = math.log(20)


def test_the_capital_is_1_on_average_over_all_orders() -> None:
    """All 5,040 orders of seven values: exactly what is promised without a change."""
    rows = np.array(list(permutations(range(7))), float)
    means = np.exp(evidence(rows).log_capital).mean(axis=0)
    assert means == pytest.approx(np.ones(7), abs=1e-12)
    assert np.ptp(evidence(rows).log_capital[:, -1]) > 0.01, "it bets"


def test_later_values_do_not_change_what_was_known() -> None:
    values = np.random.default_rng(3).integers(0, 6, 70).astype(float)  # many are equal
    whole = evidence(values)
    for length in (6, 30, 69):
        part = evidence(values[:length])
        assert part.log_capital == pytest.approx(whole.log_capital[:length], abs=1e-12)
        assert list(part.since) == list(whole.since[:length])


def test_only_the_order_of_values_counts() -> None:
    values = np.random.default_rng(4).normal(size=40)
    same = evidence(np.exp(5 * values)).log_capital
    assert evidence(values).log_capital == pytest.approx(same, abs=1e-12)
    mirrored = evidence(-values).log_capital
    assert mirrored == pytest.approx(same, abs=1e-9), "up and down are alike"


@pytest.mark.parametrize("shift", [3.0, -3.0, math.inf])
def test_a_step_is_found_soon_and_placed_where_it_began(shift: float) -> None:
    values = np.random.default_rng(5).normal(size=(40, 38))
    values[:, 30:] += shift
    result = evidence(values)
    is_there = result.log_capital >= ENOUGH
    first = np.where(is_there.any(axis=1), is_there.argmax(axis=1), 99)
    assert (first < 30).mean() <= 0.05
    assert (first < 38).mean() >= 0.9
    placed = result.since[np.arange(40), np.minimum(first, 37)]
    assert np.mean(np.abs(placed - 30) <= 1) >= 0.9


def alarms(rows: Floats) -> float:
    """Share of series that ever alarm."""
    return float((evidence(rows).log_capital >= ENOUGH).any(axis=1).mean())


def test_heavy_tails_raise_no_alarm_and_a_drift_does() -> None:
    rng = np.random.default_rng(6)
    assert alarms(rng.standard_cauchy((200, 80))) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
    assert alarms(np.cumsum(rng.normal(size=(50, 80)), axis=1)) > 0.5


def test_a_series_that_is_too_short_says_nothing() -> None:
    assert list(evidence(np.arange(OLD_LEAST, dtype=float)).log_capital) == [0.0] * OLD_LEAST
    assert evidence(np.array([])).log_capital.shape == (0,)


def test_the_shares_of_all_candidates_are_the_whole() -> None:
    several = sum(change_points.shares(k) for k in range(100_000))
    assert 0.999 < several < 1


def test_several_series_are_judged_by_the_lowest_mean_of_any_set() -> None:
    logs = [math.log(capital) for capital in (90.0, 0.2, 35.0, 1.0)]
    for at, result in enumerate(adjusted(logs)):
        others = [n for n in range(len(logs)) if n != at]
        means = [
            np.mean([math.exp(logs[n]) for n in (at, *some)])
            for size in range(len(logs))
            for some in combinations(others, size)
        ]
        assert math.exp(result) == pytest.approx(min(means))
    assert adjusted([]) == []
