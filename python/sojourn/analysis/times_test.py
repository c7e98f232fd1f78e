"""Order, merging and the edges of bins."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sojourn.analysis.times import EMPTY, Times, from_values, merge

values = st.lists(st.integers(1, 50) | st.just(math.inf), min_size=1, max_size=60)


def sorted_up(times: Times) -> list[float]:
    return [times.at_rank(rank)[1] for rank in range(1, times.n + 1)]


@given(values)
def test_ranks_are_the_sorted_values_and_lost_is_last(raw: list[float]) -> None:
    assert sorted_up(from_values(np.array(raw, float))) == sorted(raw)


@given(values, values, values)
def test_merge_is_commutative_associative_and_lossless(
    a: list[float], b: list[float], c: list[float]
) -> None:
    x, y, z = (from_values(np.array(raw, float)) for raw in (a, b, c))
    together = sorted([*a, *b, *c])
    assert sorted_up(merge([x, y, z])) == together
    assert sorted_up(merge([merge([z, x]), y])) == together
    assert sorted_up(merge([EMPTY, x, EMPTY])) == sorted(a)


@given(values, st.integers(0, 60))
def test_over_counts_lost_requests(raw: list[float], bound: int) -> None:
    assert from_values(np.array(raw, float)).over(bound) == sum(value > bound for value in raw)


def test_wide_bins_give_both_edges_and_the_straddling_one_counts_as_over() -> None:
    times = Times(
        lo_ns=np.array([100.0, 200.0]), hi_ns=np.array([149.0, 249.0]), count=np.array([3, 1])
    )
    assert times.at_rank(3) == (100, 149)
    assert times.over(220) == 1
    assert times.over(249) == 0


def test_nothing_has_no_quantile_and_no_mean() -> None:
    assert EMPTY.quantile(0.5) is None
    assert EMPTY.moments() is None
    assert merge([]).n == 0
