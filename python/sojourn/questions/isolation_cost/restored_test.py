"""A restored guest beside a booted one: alike, apart, or too few blocks to say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sojourn.questions.isolation_cost import restored
from sojourn.questions.isolation_cost.costs import Cost, cost
from sojourn.questions.isolation_cost.judge import Row
from sojourn.questions.isolation_cost.plan import IDLE
from sojourn.questions.isolation_cost.restored import BOOTED, RESTORED, Alike, alike
from sojourn.stats.interval import Interval


def blocks(mean_ns: float, count: int, seed: int, spread: float = 0.02) -> tuple[float, ...]:
    rng = np.random.default_rng(seed)
    return tuple(mean_ns * np.exp(rng.normal(0, spread, count)))


def row(name: str, start_s: float, work_ns: tuple[float, ...]) -> Row:
    rng = np.random.default_rng(3)
    times = [int(1e9 * start_s * one) for one in rng.normal(1, 0.02, 12)]
    own: Cost = cost([times], [(12, 0, 0)])
    plain: dict[str, Any] = {"about": "", "one": "", "missing": "", "fix": "", "felt": None}
    costs = {IDLE: own}
    return Row(name=name, is_restart=True, doubts=(), costs=costs, work_ns=work_ns, **plain)


def both(factor: float, count: int = 8) -> tuple[Row, Row]:
    return (
        row(BOOTED, 5.0, blocks(2e7, count, 1)),
        row(RESTORED, 0.5, blocks(factor * 2e7, count, 2)),
    )


@pytest.mark.parametrize(("booted", "own", "spread"), [(4, 6, 0.05), (3, 3, 0.02), (3, 3, 0.06)])
def test_the_interval_covers_one_where_both_are_the_same(
    booted: int, own: int, spread: float
) -> None:
    """Nominal 95 %; of 1000 draws at least 92.9 % cover, three sigma below."""
    results = [
        alike(blocks(1e7, booted, n), blocks(1e7, own, 5000 + n, spread)) for n in range(1000)
    ]
    covered = sum(one is not None and one.interval.lo <= 1 <= one.interval.hi for one in results)
    assert covered >= 929


def test_it_is_apart_only_where_the_whole_interval_is() -> None:
    for lo, hi, is_apart, is_alike in (
        (1.09, 3.0, False, False),
        (1.11, 3.0, True, False),
        (0.5, 0.9, True, False),
        (0.5, 0.95, False, False),
        (0.92, 1.09, False, True),
        (0.8, 1.2, False, False),
    ):
        one = Alike(ratio=(lo * hi) ** 0.5, interval=Interval(lo=lo, hi=hi), blocks=(3, 3))
        assert (one.is_apart, one.is_alike) == (is_apart, is_alike), (lo, hi)


@pytest.mark.parametrize(("factor", "words"), [(1.0, "alike"), (1.09, "apart is shown")])
def test_the_answer_has_both_times_and_whether_they_measure_alike(
    factor: float, words: str
) -> None:
    rows = both(factor)
    assert restored.judged(rows) == rows
    text = restored.sentence(rows)
    assert "takes 4.99 s with a full boot and 499 ms restored from its state, 9.6 to 10 " in text
    assert text.rstrip(".").endswith(words)


def test_a_factor_above_a_hundred_is_shown_without_an_exponent() -> None:
    _, back = both(1.0)
    text = restored.sentence((row(BOOTED, 60.0, blocks(2e7, 8, 1)), back))
    assert "restored from its state, 120 to 120 times as quick" in text


@pytest.mark.parametrize("factor", [1.4, 0.6])
def test_a_guest_that_is_another_is_doubted_and_the_booted_one_is_not(factor: float) -> None:
    booted, own = restored.judged(both(factor))
    assert booted.doubts == ()
    (doubt,) = own.doubts
    assert "as long as a booted one" in doubt


def test_of_few_blocks_or_one_row_nothing_is_claimed() -> None:
    few = both(1.4, count=2)
    assert restored.judged(few) == few
    assert restored.sentence(few).endswith("was not judged.")
    assert restored.sentence(few[:1]) == ""
    assert alike((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)) is None
    assert restored.medians([[[3, 1, 2], []], [[5]]]) == (2.0, 5.0)
