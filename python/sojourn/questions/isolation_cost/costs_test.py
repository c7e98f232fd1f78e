"""Costs have intervals that cover, and p99 is called longer only where a change lengthened it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sojourn.questions.isolation_cost import costs
from sojourn.questions.isolation_cost.files import WINDOW_NS, Change, apart, around

SHUFFLED = [int(n) for n in np.random.default_rng(0).permutation(10_000)]


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "DRAWS", 400)


def _changes(rng: np.random.Generator, times: float, count: int = 40) -> list[Change]:
    return [
        Change(before=rng.exponential(1e5, 200), after=rng.exponential(1e5 * times, 200))
        for _ in range(count)
    ]


def test_interval_of_the_mean_covers() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(400):
        mean = costs.cost([[int(ns) for ns in rng.exponential(40_000, 200)]], [(200, 0, 0)]).mean
        assert mean.interval is not None
        inside += mean.interval.lo <= 40_000 <= mean.interval.hi
    assert inside >= 0.92 * 400  # 95 %, 2.7 sigma below


def test_interval_of_the_mean_covers_where_blocks_differ() -> None:
    """Blocks differ by a fifth: their number counts, not that of the applications in them."""
    rng = np.random.default_rng(6)
    for count in (3, 4):
        inside = 0
        for _ in range(300):
            levels = 40_000 * (1 + 0.2 * rng.standard_normal(count))
            blocks = [[int(ns) for ns in rng.normal(level, 4_000, 50)] for level in levels]
            mean = costs.cost(blocks, []).mean
            assert mean.interval is not None
            inside += mean.interval.lo <= 40_000 <= mean.interval.hi
        assert inside >= 0.91 * 300  # 95 %, 3 sigma below


def test_each_block_counts_alike_and_an_empty_one_does_not_count() -> None:
    cost = costs.cost([[100] * 10, [], [200] * 30, [300] * 10], [])
    assert (cost.mean.value, cost.count) == (200, 50)
    few = costs.cost([[], [100, 200]], [])
    assert few.mean.value == 150


def test_a_quantile_that_the_sample_cannot_carry_is_refused() -> None:
    few, many = costs.cost([[1] * 200], []), costs.cost([SHUFFLED], [(10_000, 5, 10)])
    assert few.p99.value is None
    assert "563" in few.p99.refused
    assert many.p99.value == pytest.approx(9_900, abs=2)
    assert many.max_ns == 9_999
    assert (many.cpu_ns, many.child_ns) == (5 / 10_000, 10 / 10_000)


def test_restarts_that_are_few_have_a_mean() -> None:
    cost = costs.cost([[100, 110, 90, 105, 95]], [(5, 1, 1)])
    assert cost.mean.value == 100
    assert cost.mean.interval is not None
    assert cost.mean.interval.lo < 100 < cost.mean.interval.hi
    once = costs.cost([[100]], [(1, 1, 1)])
    assert (once.mean.value, once.mean.interval) == (100, None)


def test_a_change_that_lengthens_is_found_and_one_that_does_not_is_not() -> None:
    rng = np.random.default_rng(2)
    longer = costs.tail_effect(_changes(rng, 1.5), mechanisms=10, seed=1)
    assert longer.is_longer
    assert longer.interval is not None
    assert longer.interval.lo < 1.5 < longer.interval.hi
    wrong = sum(
        costs.tail_effect(_changes(rng, 1.0), mechanisms=10, seed=n).is_longer for n in range(12)
    )
    assert wrong <= 1  # 0.25 % expected of each


def test_the_interval_of_the_ratio_covers_one_where_nothing_changes() -> None:
    rng = np.random.default_rng(3)
    intervals = [
        costs.tail_effect(_changes(rng, 1.0), mechanisms=1, seed=n).interval for n in range(25)
    ]
    inside = sum(one is not None and one.lo <= 1 <= one.hi for one in intervals)
    assert inside >= 20  # 95 %, 3.4 sigma below


def test_few_changes_have_a_wider_interval_than_their_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes = _changes(np.random.default_rng(7), 1.0, 8)
    wide = costs.tail_effect(changes, mechanisms=1, seed=1).interval
    monkeypatch.setattr(costs, "left_out", lambda share, _: share)
    plain = costs.tail_effect(changes, mechanisms=1, seed=1).interval
    assert wide is not None
    assert plain is not None
    assert wide.lo < plain.lo < plain.hi < wide.hi


def test_few_changes_are_refused_and_lost_requests_decide() -> None:
    rng = np.random.default_rng(4)
    few = costs.tail_effect(_changes(rng, 1.0, 7), mechanisms=1, seed=1)
    assert few.ratio is None
    assert "8 are needed" in few.refused
    lost = [Change(before=c.after, after=c.before) for c in _lossy(rng)]
    result = costs.tail_effect(lost, mechanisms=1, seed=1)
    assert result.ratio is None
    assert result.before_ns == np.inf
    assert "never completed" in result.refused
    both = [Change(before=c.after, after=c.after) for c in _lossy(rng)]
    assert costs.tail_effect(both, mechanisms=1, seed=1).ratio is None


def _lossy(rng: np.random.Generator) -> list[Change]:
    """Changes after which a tenth of the requests is lost."""
    lost = np.full(20, np.inf)
    return [Change(before=c.before, after=np.append(c.after, lost)) for c in _changes(rng, 1.0)]


def test_a_change_after_which_requests_are_lost_lengthens_the_tail() -> None:
    """By how much is not known: p99 is beyond the longest request that completed."""
    changes = _lossy(np.random.default_rng(4))
    result = costs.tail_effect(changes, mechanisms=10, seed=1)
    assert (result.after_ns, result.ratio, result.is_longer) == (np.inf, np.inf, True)
    assert result.interval is not None
    assert result.before_ns is not None
    longest_ns = max(float(one.after[np.isfinite(one.after)].max()) for one in changes)
    longest_ns = max(longest_ns, *(float(one.before.max()) for one in changes))
    assert 1 < result.interval.lo < longest_ns / result.before_ns
    assert result.interval.hi == np.inf
    assert costs.ratio_words(result) == f"at least {math.floor(100 * result.interval.lo) / 100:.2f}"


WHOLE = np.linspace(1e5, 2e5, 200)
LOSSY = np.append(WHOLE[:-5], np.full(5, np.inf))  # of ten changes 20 requests may be lost


@pytest.mark.parametrize("side", ["after", "before", "both"])
def test_draws_in_which_p99_is_infinite_are_ends_of_the_interval(
    monkeypatch: pytest.MonkeyPatch, side: str
) -> None:
    """Two of ten changes lost five requests each: p99 is infinite where they are drawn five times.

    That is so in 3.3 % of the draws, by the binomial distribution: more than an end leaves out.
    """
    monkeypatch.setattr(costs, "DRAWS", 10_000)
    chance = sum(math.comb(10, k) * 0.2**k * 0.8 ** (10 - k) for k in range(5, 11))
    assert 0.025 < chance < 0.05
    is_before, is_after = side in ("before", "both"), side in ("after", "both")
    lossy = Change(before=LOSSY if is_before else WHOLE, after=LOSSY if is_after else WHOLE)
    changes = [lossy] * 2 + [Change(before=WHOLE, after=WHOLE)] * 8
    result = costs.tail_effect(changes, mechanisms=1, seed=1)
    assert result.ratio == pytest.approx(1.0, abs=0.02)
    assert result.interval is not None
    # Where both are infinite there is no ratio: these draws alone are left out.
    assert (result.interval.lo == 0) is (side == "before")
    assert (result.interval.hi == math.inf) is (side == "after")
    assert not result.is_longer


def test_requests_around_a_change_are_those_due_within_the_window() -> None:
    due = np.arange(0, 10 * WINDOW_NS, WINDOW_NS / 10, dtype=float)
    at = 5.0 * WINDOW_NS
    change = around(due, due.copy(), at, at)
    assert change is not None
    assert (change.before[0], change.before[-1]) == (4 * WINDOW_NS, at - WINDOW_NS / 10)
    assert (change.after[0], len(change.after)) == (at, 10)
    assert around(due, due, 0.5 * WINDOW_NS, 0.5 * WINDOW_NS) is None
    assert around(due, due, 9.5 * WINDOW_NS, 9.5 * WINDOW_NS) is None
    assert around(np.empty(0), np.empty(0), 1.0, 1.0) is None


def test_of_a_change_that_takes_long_all_of_it_counts_and_the_window_after_it() -> None:
    due = np.arange(0, 10 * WINDOW_NS, WINDOW_NS / 10, dtype=float)
    begin, end = 3.0 * WINDOW_NS, 7.0 * WINDOW_NS
    change = around(due, due.copy(), begin, end)
    assert change is not None
    assert (change.before[0], len(change.before)) == (2 * WINDOW_NS, 10)
    assert (change.after[0], change.after[-1]) == (begin, 8 * WINDOW_NS - WINDOW_NS / 10)
    assert around(due, due, begin, 9.5 * WINDOW_NS) is None


def test_changes_that_follow_at_once_have_nothing_before_them() -> None:
    w = WINDOW_NS
    first, late, next_, again = (0, w), (2 * w, 9 * w), (11 * w, 12 * w), (14 * w, 15 * w)
    assert list(apart([first, late, next_, again])) == [first, next_, again]
