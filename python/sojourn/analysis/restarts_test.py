"""Intervals across restarts cover, groups are found and not invented."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sojourn.analysis import restarts


def test_student_covers_the_mean_of_five() -> None:
    """4,000 draws: one sigma is 0.35 points; four."""
    rng = np.random.default_rng(15)
    found = [restarts.interval(list(rng.normal(100, 7, 5))) for _ in range(4_000)]
    covered = np.mean([i is not None and i.lo <= 100 <= i.hi for i in found])
    assert covered == pytest.approx(0.95, abs=0.014)


def test_two_restarts_have_no_interval() -> None:
    assert restarts.interval([1.0, 2.0]) is None


def test_a_restart_that_lost_its_tail_leaves_no_upper_bound() -> None:
    found = restarts.interval([100.0, 110.0, math.inf])
    assert found is not None
    assert (found.lo, found.hi) == (100, math.inf)
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
