"""Order, merging and the edges of bins."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sojourn.stats.times import EMPTY, Times, from_values, merge

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


def test_moments_are_those_of_the_bins_middles() -> None:
    """Middles 10 (three) and 40 (one) beside a lost one: mean 17.5, Σ² = 3·56.25 + 506.25."""
    times = Times(
        lo_ns=np.array([8.0, 30.0]), hi_ns=np.array([12.0, 50.0]), count=np.array([3, 1]), lost=1
    )
    assert (times.finite, times.n) == (4, 5)
    assert times.moments() == (17.5, 675 / 3)
    one = Times(lo_ns=np.array([4.0]), hi_ns=np.array([6.0]), count=np.array([1]))
    assert one.moments() == (5.0, 0.0)


def test_a_quantile_is_the_upper_edge_at_its_rank_rounded_up() -> None:
    times = Times(
        lo_ns=np.array([1.0, 11.0, 21.0]),
        hi_ns=np.array([2.0, 12.0, 22.0]),
        count=np.array([94, 1, 5]),
    )
    assert [times.quantile(q) for q in (0.0, 0.94, 0.941, 0.95, 0.951, 1.0)] == [
        2.0,
        2.0,
        12.0,
        12.0,
        22.0,
        22.0,
    ]
    # 0.07 · 100 is 7.000000000000001 in floating point: rank 7 all the same.
    assert from_values(np.arange(1.0, 101)).quantile(0.07) == 7.0
    assert times.at_rank(101) == (math.inf, math.inf)


def test_merging_adds_what_lies_in_the_same_bin_and_nothing_else() -> None:
    """Two bins with one lower edge and unlike upper ones stay two."""
    a = Times(lo_ns=np.array([1.0, 5.0]), hi_ns=np.array([2.0, 6.0]), count=np.array([1, 2]))
    b = Times(
        lo_ns=np.array([1.0, 5.0]), hi_ns=np.array([4.0, 6.0]), count=np.array([3, 4]), lost=2
    )
    both = merge([b, a])
    assert both.lo_ns.tolist() == [1.0, 1.0, 5.0]
    assert both.hi_ns.tolist() == [2.0, 4.0, 6.0]
    assert both.count.tolist() == [1, 3, 6]
    assert both.lost == 2
    lost = Times(lo_ns=np.empty(0), hi_ns=np.empty(0), count=np.empty(0, np.int64), lost=3)
    gone = merge([lost, lost])
    assert (gone.n, gone.finite) == (6, 0)
    assert merge([EMPTY, a]) is a
