"""Intervals across restarts cover, groups are found and not invented."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sojourn.stats import restarts


def test_student_covers_the_mean_of_five() -> None:
    """4,000 draws: one sigma is 0.35 points; four."""
    rng = np.random.default_rng(15)
    results = [restarts.interval(list(rng.normal(100, 7, 5))) for _ in range(4_000)]
    covered = np.mean([i is not None and i.lo <= 100 <= i.hi for i in results])
    assert covered == pytest.approx(0.95, abs=0.014)


def test_two_restarts_have_no_interval() -> None:
    assert restarts.interval([1.0, 2.0]) is None


def test_restarts_that_agree_still_scatter_by_the_last_digit() -> None:
    result = restarts.interval([1e6, 1e6, 1e6])
    assert result is not None
    assert 1e6 * 0.997 < result.lo < 1e6 * 0.999
    assert 1e6 * 1.001 < result.hi < 1e6 * 1.003
    assert restarts.is_precise([1e6, 1e6, 1e6])


def test_a_restart_that_lost_its_tail_leaves_no_upper_bound() -> None:
    result = restarts.interval([100.0, 110.0, math.inf])
    assert result is not None
    assert (result.lo, result.hi) == (100, math.inf)
    assert not restarts.is_precise([100.0, 110.0, math.inf])


def test_precise_means_five_percent_either_way() -> None:
    assert restarts.is_precise([100, 101, 99, 100, 102])
    assert not restarts.is_precise([100, 120, 80, 100, 102])


def test_two_clear_groups_are_found() -> None:
    assert restarts.is_bimodal([100, 101, 102, 150, 151])
    assert restarts.is_bimodal([100, 151, 102, 150, 99, 149, 101, 152])


def test_groups_closer_than_a_tenth_do_not_matter() -> None:
    assert not restarts.is_bimodal([100, 100.1, 100.2, 105, 105.1])


def test_one_outlier_is_no_group() -> None:
    assert not restarts.is_bimodal([100, 101, 102, 103, 200])


@pytest.mark.parametrize("n", [5, 6, 10, 20])
def test_one_group_is_seldom_split(n: int) -> None:
    """Level 1 %; of 1,000 at most 1 % plus five sigma (0.31 points)."""
    rng = np.random.default_rng(n)
    wrong = sum(restarts.is_bimodal(list(rng.normal(100, 20, n))) for _ in range(1_000))
    assert wrong <= 26


def test_few_or_infinite_values_are_not_judged() -> None:
    assert not restarts.is_bimodal([1, 1, 9, 9])
    assert not restarts.is_bimodal([1, 1, 9, 9, math.inf])
    assert not restarts.is_bimodal([7, 7, 7, 7, 7])


def test_the_interval_is_student_s() -> None:
    """Mean 100, deviation 10, three values: ± 4.3027 · 10/√3; 90 %: 2.92 · 10/√3."""
    result = restarts.interval([90.0, 100.0, 110.0])
    assert result is not None
    assert (result.lo, result.hi) == pytest.approx((100 - 24.841, 100 + 24.841), abs=1e-3)
    less = restarts.interval([90.0, 100.0, 110.0], confidence=0.9)
    assert less is not None
    assert less.hi == pytest.approx(100 + 16.859, abs=1e-3)
    wide = restarts.interval([1.0, 100.0, 1.0])
    assert wide is not None
    assert wide.lo == 0  # times are not negative


def test_precise_is_up_to_a_half_width_of_five_percent() -> None:
    half = 4.30265 / 3**0.5  # of the deviation
    assert restarts.is_precise([100 - 4.99 / half, 100, 100 + 4.99 / half])
    assert not restarts.is_precise([100 - 5.01 / half, 100, 100 + 5.01 / half])
    assert not restarts.is_precise([100.0, 100.0])


@pytest.mark.parametrize("cut", [2, 3, 5])
def test_ashman_s_d_is_that_of_the_groups_on_either_side_of_the_gap(cut: int) -> None:
    """D = √2 |μ₁ − μ₂| / √(σ₁² + σ₂²), by the definition."""
    values = np.sort(np.random.default_rng(cut).normal(0, 1, 7))
    values[cut:] += 20
    low, high = values[:cut], values[cut:]
    wanted = 2**0.5 * (high.mean() - low.mean()) / (low.var(ddof=1) + high.var(ddof=1)) ** 0.5
    result, at = restarts._ashman(values[None, :])
    assert float(result[0]) == pytest.approx(wanted)
    assert int(at[0]) == cut


def test_the_gap_is_sought_with_two_values_on_either_side() -> None:
    _, at = restarts._ashman(np.array([[0.0, 50.0, 51.0, 53.0, 90.0], [0.0, 1.0, 9.0, 10.0, 99.0]]))
    assert list(at) == [3, 2]


def test_groups_without_any_spread_are_as_far_apart_as_can_be() -> None:
    assert restarts.is_bimodal([10, 10, 20, 20, 20])
    assert not restarts.is_bimodal([10, 10, 10.9, 10.9, 10.9])  # 9 % apart


def test_groups_count_from_a_tenth_of_the_lower_one_on() -> None:
    assert restarts.is_bimodal([100, 100, 111, 111, 111])
    assert not restarts.is_bimodal([100, 100, 109, 109, 109])
    assert restarts.is_bimodal([1_000, 1_001, 1_150, 1_151, 1_152])


def test_groups_are_apart_beyond_the_one_percent_point_of_their_own_number() -> None:
    for n in (5, 8):
        rows = np.sort(np.random.default_rng(99).standard_normal((4_000, n)), axis=1)
        beyond = float((restarts._ashman(rows)[0] > restarts._limit(n)).mean())
        assert beyond == pytest.approx(0.01, abs=0.0075)  # 4.5 sigma of both draws together


def test_precision_is_that_of_the_level_that_is_asked_for() -> None:
    """Half-width 4.30 or, at 80 %, 1.886 · 4/√3 of 100."""
    values = [96.0, 100.0, 104.0]
    assert not restarts.is_precise(values)
    assert restarts.is_precise(values, confidence=0.8)
