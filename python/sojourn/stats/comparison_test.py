"""Bets, Holm, judgements and gates against simulated error rates."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from sojourn.stats import gate_rule, holm, paired_ratio, symmetry_bets, visible_change
from sojourn.stats.gate_rule import Ruling
from sojourn.stats.paired_ratio import Judgement, Limits

ALPHA = 0.05
SERIES = 1000  # a share of 5 % of them has a standard deviation of 0.7 %
MOST = ALPHA + 4 * math.sqrt(ALPHA * (1 - ALPHA) / SERIES)


def noises(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Log ratios of equal settings, symmetric about 0 by the order of a block, of any form."""
    shape = (SERIES, 40)
    slow = rng.choice([0.0, 0.3], shape) - rng.choice([0.0, 0.3], shape)
    return {
        "normal": rng.normal(0, 0.2, shape),
        "heavy tails": rng.standard_cauchy(shape),
        "two modes": slow + rng.normal(0, 0.01, shape),
        "ever larger": rng.normal(0, 1, shape) * np.geomspace(0.01, 10, shape[1]),
        "dependent sizes": np.abs(np.cumsum(rng.normal(0, 1, shape), axis=1))
        * rng.choice([-1, 1], shape),
    }


def test_equal_settings_ever_alarm_no_more_often_than_reported() -> None:
    for name, logs in noises(np.random.default_rng(1)).items():
        peak = symmetry_bets.log_capital(logs).max(axis=1)
        alarms = float(np.mean(peak >= math.log(1 / ALPHA)))
        assert alarms <= MOST, name


def test_a_centre_at_the_margin_alarms_no_more_often_either() -> None:
    logs = np.random.default_rng(2).normal(0.05, 0.2, (SERIES, 60))
    peak = symmetry_bets.log_capital(logs, 0.05).max(axis=1)
    assert np.mean(peak >= math.log(1 / ALPHA)) <= MOST
    assert np.mean(symmetry_bets.log_capital(logs, 0.0).max(axis=1) >= math.log(1 / ALPHA)) > 0.2


def test_capital_is_one_on_average_over_all_signs() -> None:
    sizes = np.array([0.3, 0.01, 1.0, 0.2, 0.05, 4.0])
    signs = np.array(list(itertools.product([-1, 1], repeat=len(sizes))))
    capital = np.exp(symmetry_bets.log_capital(signs * sizes)[:, 0])
    assert float(capital.mean()) == pytest.approx(1.0)


def test_a_block_without_a_ratio_changes_nothing() -> None:
    with_gap = symmetry_bets.log_capital(np.array([0.1, math.nan, 0.2, 0.1, 0.3]))
    without = symmetry_bets.log_capital(np.array([0.1, 0.2, 0.1, 0.3]))
    assert with_gap[1] == with_gap[0]
    assert with_gap[2] == pytest.approx(without[1])


def test_seven_pairs_are_the_fewest_for_one_percent() -> None:
    infinite = [math.inf] * 20
    p, _ = symmetry_bets.p_values(np.array(infinite), (0.0, 0.0))
    assert p[5] > 0.01 >= p[6]


def test_the_interval_covers_at_every_block_together() -> None:
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(100):
        logs = rng.standard_t(3, 40) * 0.1 + 0.2
        ends = symmetry_bets.interval(logs, ALPHA)
        missed += ends is not None and not ends.lo <= 0.2 <= ends.hi
    assert missed <= stats.binom.ppf(0.9999, 100, ALPHA)


def test_no_interval_of_a_few_pairs() -> None:
    assert symmetry_bets.interval(np.array([0.1, 0.2, 0.1]), 0.01) is None
    assert symmetry_bets.interval(np.array([math.nan] * 20), 0.01) is None


def test_holm_is_that_of_the_textbook() -> None:
    result = holm.adjusted({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert result == pytest.approx({"d": 0.02, "a": 0.03, "c": 0.06, "b": 0.06})
    assert holm.adjusted({}) == {}


def test_judgements_of_a_family() -> None:
    rng = np.random.default_rng(4)
    result = paired_ratio.judged(
        {
            "worse": rng.normal(0.2, 0.05, 30),
            "better": rng.normal(-0.2, 0.05, 30),
            "alike": rng.normal(0.0, 0.01, 30),
            "noisy": rng.normal(0.0, 1.0, 30),
            "none": np.full(30, math.nan),
        },
        Limits(alpha=0.01, same=0.05),
    )
    assert {name: one.judgement for name, one in result.items()} == {
        "worse": Judgement.WORSE,
        "better": Judgement.BETTER,
        "alike": Judgement.SAME,
        "noisy": Judgement.OPEN,
        "none": Judgement.OPEN,
    }
    worse = result["worse"]
    assert worse.interval is not None
    assert worse.interval.lo <= math.exp(0.2) <= worse.interval.hi
    assert result["none"].ratio is None
    assert result["none"].pairs == 0


def test_an_infinite_side_is_worse_and_never_a_number() -> None:
    p99 = paired_ratio.judged({"p99": [math.inf] * 12}, Limits())["p99"]
    assert p99.judgement is Judgement.WORSE
    assert p99.ratio == math.inf


def test_a_gate_confirms_an_alarm_on_fresh_blocks() -> None:
    slower = [0.3] * 8
    first = gate_rule.decide({"p99": slower}, 0.05, 0.01)
    assert (first.ruling, first.first, first.is_over) == (Ruling.OPEN, 8, False)
    both = gate_rule.decide({"p99": slower + [0.3] * 4}, 0.05, 0.01)
    assert (both.ruling, both.numbers, both.blocks) == (Ruling.REGRESSION, ("p99",), 12)
    gone = gate_rule.decide({"p99": slower + [-0.3] * 8}, 0.05, 0.01)
    assert (gone.ruling, gone.is_over, gone.numbers) == (Ruling.OPEN, True, ("p99",))


def test_more_blocks_never_change_a_decision() -> None:
    rng = np.random.default_rng(5)
    for centre in (0.0, 0.2):
        logs = rng.normal(centre, 0.03, 80)
        whole = gate_rule.decide({"p99": logs}, 0.05, 0.01)
        assert whole.is_over
        prefix = gate_rule.decide({"p99": logs[: whole.blocks]}, 0.05, 0.01)
        assert prefix == whole
        assert not gate_rule.decide({"p99": logs[: whole.blocks - 1]}, 0.05, 0.01).is_over


def test_a_gate_passes_only_if_every_number_is_below_the_limit() -> None:
    calm, noisy = [0.0] * 12, [1.0, -1.0] * 6
    assert gate_rule.decide({"cpu": calm}, 0.05, 0.01).ruling is Ruling.FINE
    assert gate_rule.decide({"cpu": calm, "p99": noisy}, 0.05, 0.01).ruling is Ruling.OPEN
    assert gate_rule.decide({}, 0.05, 0.01).ruling is Ruling.OPEN


def test_a_gate_at_its_limit_alarms_no_more_often_than_reported() -> None:
    rng = np.random.default_rng(6)
    results = [
        gate_rule.decide({name: rng.normal(math.log(1.05), 0.1, 60) for name in "abc"}, 0.05, ALPHA)
        for _ in range(100)
    ]
    first = sum(one.first is not None for one in results)
    assert first <= stats.binom.ppf(0.9999, 100, ALPHA)


def test_a_stated_number_of_blocks_is_enough_nine_times_of_ten() -> None:
    rng = np.random.default_rng(7)
    blocks = visible_change.blocks_for(0.10, 0.05, 0.01)
    assert blocks is not None
    logs = rng.normal(math.log(1.10), 0.05, (400, blocks))
    seen = symmetry_bets.log_capital(logs).max(axis=1) >= math.log(100)
    assert np.mean(seen) >= 0.9 - 4 * math.sqrt(0.9 * 0.1 / 400)
    assert visible_change.blocks_for(0.01, 1.0, 0.01) is None
    assert visible_change.blocks_for(0.05, 0.1, 0.01, margin=0.05) is None


@pytest.mark.parametrize("count", [4, 12, 40])
def test_the_scatter_lies_above_the_true_one_four_times_of_five(count: int) -> None:
    rng = np.random.default_rng(9)
    logs = rng.normal(0.2, 0.1, (1000, count))
    upper = np.array([visible_change.scatter(row) for row in logs])
    least = float(stats.chi2.ppf(0.2, count - 1))
    expected = np.std(logs, axis=1, ddof=1) * math.sqrt((count - 1) / least)
    assert upper == pytest.approx(expected)
    assert np.mean(upper > 0.1) == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / 1000))


def test_what_so_many_blocks_show() -> None:
    seen = visible_change.change_in(40, 0.1, 0.01)
    assert seen is not None
    assert (visible_change.blocks_for(seen, 0.1, 0.01) or 99) <= 40
    assert visible_change.change_in(3, 0.1, 0.01) is None
    assert visible_change.scatter(np.array([0.1, 0.2])) == math.inf
