"""Effects against least squares on the design matrix, and how often their intervals hold."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import statsmodels.api as sm

from sojourn.plan.setting import Level, Setting
from sojourn.spec.design import Design
from sojourn.stats.interval import Interval
from sojourn.stats.log_ratio_contrasts import Contrast, combined, middle, ratio

Cells = tuple[Setting, ...]
FACTORS: dict[str, tuple[Level, ...]] = {"a": (1, 2), "b": ("x", "y"), "c": (8, 16), "d": (0, 1)}


def cells(design: Design, *names: str) -> Cells:
    combinations = design.combinations_of({name: FACTORS[name] for name in names})
    return tuple(Setting.of(cell) for cell in combinations)


def by_block(
    cells: Cells, blocks: int, effect: dict[str, float], rng: np.random.Generator, sd: float
) -> dict[int, dict[Setting, float]]:
    """Numbers whose logarithm is a sum: of the block, of the levels, and noise."""
    values: dict[int, dict[Setting, float]] = {}
    for block in range(blocks):
        drift = rng.normal(0, 1)
        values[block] = {
            cell: math.exp(
                5
                + drift
                + sd * rng.standard_normal()
                + sum(effect[f] for f in cell if cell[f] == FACTORS[f][1])
            )
            for cell in cells
        }
    return values


def least_squares(
    cells: Cells, values: dict[int, dict[Setting, float]], factor: str
) -> tuple[float, float]:
    """Coefficient and its t-interval's half-width by OLS on dummies of blocks and factors.

    The half-width is that of the blocks' own coefficients: a fit of each block by itself.
    """
    rows = [[1.0, *(float(cell[f] == FACTORS[f][1]) for f in cell)] for cell in cells]
    names = ["1", *cells[0]]
    logs = np.array([[math.log(values[b][cell]) for cell in cells] for b in sorted(values)])
    whole = np.vstack([rows] * len(values))
    dummies = np.kron(np.eye(len(values))[:, 1:], np.ones((len(cells), 1)))
    fit = sm.OLS(logs.ravel(), np.hstack([whole, dummies])).fit()
    each = [sm.OLS(log, np.array(rows)).fit().params[names.index(factor)] for log in logs]
    low, high = sm.stats.DescrStatsW(each).tconfint_mean()
    return float(fit.params[names.index(factor)]), float(high - low) / 2


@pytest.mark.parametrize("factor", ["a", "b", "c", "d"])
@pytest.mark.parametrize(
    "design", [Design(), Design(kind="fractional", p=1)], ids=["full", "fraction"]
)
def test_an_effect_is_that_of_least_squares(design: Design, factor: str) -> None:
    known = cells(design, *FACTORS)
    rng = np.random.default_rng(7)
    effect = {"a": 0.6, "b": -0.2, "c": 0.0, "d": 1.1}
    values = by_block(known, 4, effect, rng, 0.3)
    low, high = FACTORS[factor]
    contrast = Contrast(known, factor, low, high, design.kind == "fractional")
    value, interval = ratio(contrast.by_block(values))
    wanted, half = least_squares(known, values, factor)
    assert value is not None
    assert interval is not None
    assert math.log(value) == pytest.approx(wanted)
    assert math.log(interval.hi / interval.lo) / 2 == pytest.approx(half)


def test_a_missing_run_leaves_its_pair_out_and_moves_no_other_factor() -> None:
    """Without noise the effect is exact whatever is missing, for a matched pair has both runs."""
    known = cells(Design(), "a", "b", "c")
    effect = {"a": 0.5, "b": 2.0, "c": -1.0}
    values = by_block(known, 3, effect, np.random.default_rng(1), 0.0)
    gone = [cell for cell in known if cell in cells(Design(kind="fractional", p=1), "a", "b", "c")]
    del values[1][gone[0]], values[2][gone[1]]
    contrast = Contrast(known, "a", 1, 2, is_fraction=False)
    logs = contrast.by_block(values)
    assert logs == pytest.approx([0.5] * 3)
    fraction = cells(Design(kind="fractional", p=1), "a", "b", "c")
    part = {b: {c: v for c, v in values[b].items() if c in fraction} for b in values}
    wholes = [b for b in part if len(part[b]) == len(fraction)]
    logs = Contrast(fraction, "a", 1, 2, is_fraction=True).by_block(part)
    assert len(logs) == len(wholes) < 3


def test_levels_that_never_change_alone_cannot_be_compared() -> None:
    listed = (Setting.of(a=1, b="x"), Setting.of(a=2, b="y"))
    contrast = Contrast(listed, "a", 1, 2, is_fraction=False)
    assert contrast.by_block({0: {listed[0]: 1.0, listed[1]: 2.0}}) == ()
    assert ratio(()) == (None, None)


def test_one_block_has_a_ratio_and_no_interval() -> None:
    value, interval = ratio((math.log(2),))
    assert value == pytest.approx(2)
    assert interval is None


@pytest.mark.parametrize("blocks", [2, 3, 5])
def test_the_interval_holds_the_truth_as_often_as_it_says(blocks: int) -> None:
    """95 % of 2000; the share's own standard deviation is 0.5 %, and five of them are allowed."""
    known = cells(Design(), "a", "b")
    rng = np.random.default_rng(blocks)
    contrast = Contrast(known, "a", 1, 2, is_fraction=False)
    times, held = 2000, 0
    for _ in range(times):
        values = by_block(known, blocks, {"a": math.log(1.8), "b": 0.7}, rng, 0.4)
        _, interval = ratio(contrast.by_block(values))
        assert interval is not None
        held += interval.lo <= 1.8 <= interval.hi
    assert held / times == pytest.approx(0.95, abs=5 * math.sqrt(0.95 * 0.05 / times))


def test_intervals_of_their_own_carry_over_as_variances_do() -> None:
    """Lognormal estimates with 90 % intervals: coverage of their ratio, over two pairs."""
    known = cells(Design(), "a", "b")
    rng = np.random.default_rng(3)
    contrast = Contrast(known, "a", 1, 2, is_fraction=False)
    truth = {
        cell: 100.0 * (2 if cell["a"] == 2 else 1) * (3 if cell["b"] == "y" else 1)
        for cell in known
    }
    sds = dict(zip(known, (0.05, 0.2, 0.1, 0.3), strict=True))
    times, held = 2000, 0
    for _ in range(times):
        results = {}
        for cell in known:
            seen = truth[cell] * math.exp(sds[cell] * rng.standard_normal())
            wide = math.exp(1.6449 * sds[cell])
            results[cell] = seen, Interval(lo=seen / wide, hi=seen * wide)
        _, interval = combined(contrast, results)
        assert interval is not None
        held += interval.lo <= 2 <= interval.hi
    assert held / times == pytest.approx(0.9, abs=5 * math.sqrt(0.9 * 0.1 / times))


def test_the_ratio_of_lopsided_intervals_is_lopsided_too() -> None:
    known = tuple(Setting.of(a=n) for n in (1, 2))
    contrast = Contrast(known, "a", 1, 2, is_fraction=False)
    sure, unsure = Interval(lo=100, hi=100), Interval(lo=180, hi=400)
    value, interval = combined(contrast, {known[0]: (100.0, sure), known[1]: (200.0, unsure)})
    assert value == pytest.approx(2.0)
    assert interval is not None
    assert (interval.lo, interval.hi) == pytest.approx((1.8, 4.0))
    value, interval = combined(contrast, {known[1]: (100.0, sure), known[0]: (200.0, unsure)})
    assert interval is not None
    assert (interval.lo, interval.hi) == pytest.approx((0.25, 1 / 1.8))


def test_three_levels_are_compared_with_the_first_each() -> None:
    levels = (1, 2, 4)
    known = tuple(Setting.of(a=a, b=b) for a, b in itertools.product(levels, ("x", "y")))
    values = {block: {cell: float(cell["a"]) * (1 + block) for cell in known} for block in range(2)}
    for level in levels[1:]:
        value, _ = ratio(Contrast(known, "a", 1, level, is_fraction=False).by_block(values))
        assert value == pytest.approx(level)


@pytest.mark.parametrize(
    ("design", "blocks"), [(Design(), 1), (Design(), 3), (Design(kind="fractional", p=1), 3)]
)
def test_what_chance_makes_of_an_effect_is_its_spread(design: Design, blocks: int) -> None:
    rng, own = np.random.default_rng(11), cells(design, "a", "b", "c")
    contrast = Contrast(own, "a", 1, 2, design.kind == "fractional")
    drawn = [
        by_block(own, blocks, dict.fromkeys("abc", 0.0), rng, sd=0.1) for _ in range(400)
    ]  # two runs differ by √2 · 0.1
    result = np.std([np.mean(contrast.by_block(values)) for values in drawn]) / (math.sqrt(2) * 0.1)
    assert contrast.spread(drawn[0]) == pytest.approx(result, rel=0.1)
    assert contrast.spread(drawn[0]) == pytest.approx(1 / math.sqrt(blocks * len(own) / 2))


def test_the_mean_of_two_runs_is_by_chance_as_far_off_as_one_by_the_root_of_two() -> None:
    known = cells(Design(), "a", "b")
    contrast = Contrast(known, "a", 1, 2, is_fraction=False)
    values = by_block(known, 3, {"a": 0.5, "b": 0.7}, np.random.default_rng(1), 0.2)
    one, two = ({b: dict.fromkeys(known, n) for b in values} for n in (1, 2))
    assert contrast.spread(values, one) == pytest.approx(contrast.spread(values))
    assert contrast.spread(values, two) == pytest.approx(contrast.spread(values) / math.sqrt(2))


PAIR = tuple(Setting.of(a=n) for n in (1, 2))
OF_PAIR = Contrast(PAIR, "a", 1, 2, is_fraction=False)


def paired(*values: tuple[float, float]) -> dict[int, dict[Setting, float]]:
    """Numbers of both levels, block by block."""
    return {block: dict(zip(PAIR, both, strict=True)) for block, both in enumerate(values)}


def test_blocks_that_agree_to_the_last_digit_have_an_interval_with_a_width() -> None:
    """Student's 12.7 of two blocks, on 0.1 % over √2."""
    value, interval = ratio([0.0, 0.0])
    assert value == 1
    assert interval is not None
    assert math.log(interval.hi) == pytest.approx(12.706 * 0.001 / math.sqrt(2), rel=1e-3)
    assert interval.lo == pytest.approx(1 / interval.hi)


def test_a_block_is_infinite_on_the_side_of_the_level_that_is() -> None:
    logs = OF_PAIR.by_block(
        paired((1.0, 2.0), (1.0, math.inf), (math.inf, 1.0), (math.inf, math.inf))
    )
    assert logs[0] == pytest.approx(math.log(2))
    assert logs[1:3] == (math.inf, -math.inf)
    assert math.isnan(logs[3])


def test_one_block_that_is_infinite_on_one_side_says_of_no_other() -> None:
    assert OF_PAIR.endless(paired((1.0, math.inf))) == 0
    assert OF_PAIR.endless(paired((1.0, math.inf), (1.0, math.inf))) == 1
    assert OF_PAIR.endless(paired((math.inf, 1.0), (math.inf, 1.0))) == -1


@pytest.mark.parametrize("pair", [(1.0, math.nan), (math.nan, math.inf), (math.inf, math.nan)])
def test_a_number_that_may_be_any_leaves_its_block_open(pair: tuple[float, float]) -> None:
    assert math.isnan(OF_PAIR.by_block(paired(pair))[0])
    assert OF_PAIR.endless(paired(pair, pair)) == 0
    assert OF_PAIR.endless(paired((1.0, math.inf), (1.0, math.inf), pair)) == 0


@pytest.mark.parametrize("blocks", [9, 12])
def test_the_interval_of_the_median_holds_it_whatever_one_block_is(blocks: int) -> None:
    rng = np.random.default_rng(blocks)
    times, held = 1000, 0
    for _ in range(times):
        result = middle([math.inf, *rng.standard_t(2, blocks - 1)])
        assert result is not None
        held += result[1].lo <= 1 <= result[1].hi
    assert held / times > 0.93, "one of them is none of these, on the wrong side"


@pytest.mark.parametrize("where", [math.inf, -math.inf, math.nan])
def test_the_median_of_enough_blocks_outweighs_one_that_is_infinite(where: float) -> None:
    logs = [where, *(0.1 * n for n in range(1, 9))]
    result = middle(logs)
    assert result is not None
    value, interval = result
    lowest, highest = {
        math.inf: (0.2, 0.8),
        -math.inf: (0.1, 0.7),
    }.get(where, (0.1, 0.8))
    assert math.log(interval.lo) == pytest.approx(lowest)
    assert math.log(interval.hi) == pytest.approx(highest)
    assert interval.lo < value < interval.hi
    assert middle(logs[:8]) is None
    assert middle([where, where, *logs[2:]]) is None


def test_pairs_without_an_interval_are_not_left_out() -> None:
    known = cells(Design(), "a", "b")
    contrast = Contrast(known, "a", 1, 2, is_fraction=False)
    ends = Interval(lo=90.0, hi=110.0)
    results = dict.fromkeys(known, (100.0, ends))
    assert combined(contrast, results)[1] is not None
    del results[known[-1]]
    ratio, interval = combined(contrast, results)
    assert ratio == pytest.approx(1.0)
    assert interval is None
