import math

import numpy as np
import pytest
from numpy.typing import NDArray

from sojourn.models.identify import FACTORS, Range, profile

NAMES = ("a", "b")


def test_a_parameter_alone_is_known_to_what_the_slack_allows() -> None:
    """|ln a| + 5·|ln b| ≤ slack: a within e^±slack, b within e^±slack/5; the grid is inside."""

    def misfit(logs: NDArray[np.float64]) -> float:
        return float(abs(logs[0]) + 5 * abs(logs[1]))

    a, b = profile(misfit, np.zeros(2), NAMES, slack=math.log(1.6), steps=60)
    assert (a.low, a.high) == pytest.approx((1 / 1.5, 1.5))
    assert (b.low, b.high) == (1.0, 1.0)
    assert b.is_identified
    assert not a.is_identified


def test_a_sum_of_which_only_the_total_is_known_leaves_both_open_downward() -> None:
    """Only a + b = 2 is seen: each can be anything from 0 to 2."""

    def misfit(logs: NDArray[np.float64]) -> float:
        return float(abs(np.log(np.exp(logs).sum() / 2)))

    for result in profile(misfit, np.zeros(2), NAMES, slack=0.01, steps=200):
        assert result.low == 0
        assert 1.5 <= result.high <= 2.0
        assert not result.is_identified
        assert "fits equally" in str(result)


def test_what_does_not_matter_at_all_is_any_value() -> None:
    a, b = profile(lambda logs: float(abs(logs[1])), np.zeros(2), NAMES, slack=0.01, steps=50)
    assert (a.low, a.high) == (0, math.inf)
    assert "any value" in str(a)
    assert b.is_identified


def test_the_steps_can_show_that_a_range_is_identified() -> None:
    assert Range(name="x", low=1 / FACTORS[2], high=FACTORS[2]).is_identified
    assert not Range(name="x", low=1 / FACTORS[3], high=FACTORS[3]).is_identified


@pytest.mark.parametrize(
    ("low", "high", "is_identified", "words"),
    [
        (1.0, 2.0, True, "x: 1 to 2 fits equally"),
        (1.0, 2.1, False, "x: 1 to 2.1 fits equally"),
        (0.0, 1.0, False, "x: 0 to 1 fits equally"),
        (3.0, math.inf, False, "x: 3 or more fits equally"),
        (0.0, math.inf, False, "x: any value fits equally"),
    ],
)
def test_a_range_of_a_factor_of_two_is_known(
    low: float, high: float, words: str, *, is_identified: bool
) -> None:
    result = Range(name="x", low=low, high=high)
    assert (result.is_identified, str(result)) == (is_identified, words)


def test_a_walk_ends_at_the_last_value_that_fits_on_either_side() -> None:
    """Around e: up to 1.35 times and down to a third of it."""

    def misfit(logs: NDArray[np.float64]) -> float:
        off = float(logs[0]) - 1.0
        return off / math.log(1.4) if off > 0 else -off / math.log(3.1)

    (result,) = profile(misfit, np.ones(1), ("x",), slack=1.0, steps=10)
    assert (result.low, result.high) == pytest.approx((math.e / 3, 1.35 * math.e))
