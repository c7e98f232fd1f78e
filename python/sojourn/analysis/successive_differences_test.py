"""Differences from blocks with gaps, against least squares done elsewhere and against chance."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import stats

from sojourn.analysis import trend
from sojourn.analysis.trend import Ladder
from sojourn.stats import successive_differences

Floats = NDArray[np.float64]
NONE = math.nan
LEVELS = ("1", "2", "4", "8")


def table(
    seed: int, *factors: float, blocks: int = 3, sd: tuple[float, ...] = (0.2,), lost: float = 0.25
) -> Floats:
    """Blocks whose machines differ, of which some cells were not believed."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 1, (blocks, len(factors))) * np.resize(sd, len(factors))
    made = np.log(factors) + rng.normal(0, 1, (blocks, 1)) + noise
    made[rng.random(made.shape) < lost] = math.nan
    return np.asarray(made)


@pytest.mark.parametrize("lost", [0.0, 0.25])
def test_it_is_the_least_squares_of_statsmodels(lost: float) -> None:
    logs = table(3, 1, 2, 3, 5, blocks=4, lost=lost)
    result = successive_differences.fitted(logs)
    assert result is not None
    seen = ~np.isnan(logs)
    at_block, at_level = np.nonzero(seen)
    design = np.column_stack(
        [
            *(at_block == n for n in range(4)),
            *(at_level == n for n in range(1, 4)),
        ]
    ).astype(float)
    fit = sm.OLS(logs[seen], design).fit()
    for level in (1, 2, 3):
        step, nth = result.between(0, level), 3 + level
        assert step.mean == pytest.approx(fit.params[nth])
        own = fit.resid[np.isin(at_level, (0, level))]
        wilder = max(1.0, float((own**2).mean() / (fit.resid**2).mean()))
        pooled, *more = step.errors
        assert pooled.size == pytest.approx(fit.bse[nth] * math.sqrt(wilder))
        part = 1.0 if wilder == 1.0 else len(own) / len(fit.resid)
        assert pooled.freedom == pytest.approx(fit.df_resid * part)
        chances = [2 * stats.t.sf(abs(step.mean) / pooled.size, pooled.freedom)]
        if not lost:
            each = logs[:, level] - logs[:, 0]
            chances.append(float(stats.ttest_1samp(each, 0).pvalue))
            low, high = stats.t.interval(0.95, 3, each.mean(), stats.sem(each))
            assert more[0].half(0.95) == pytest.approx((high - low) / 2)
        assert len(more) == (0 if lost else 1)
        assert step.chance == pytest.approx(min(1.0, len(chances) * min(chances)))
    assert result.between(1, 2).mean == pytest.approx(fit.params[5] - fit.params[4])


@pytest.mark.parametrize(
    "logs",
    [
        [[0.0, NONE, NONE], [NONE, 1.0, 2.0], [NONE, 1.1, 2.1], [0.1, NONE, NONE]],
        [[0.0, 1.0, NONE], [0.1, 1.1, NONE]],
        [[0.0, 1.0]],
    ],
)
def test_levels_that_no_block_has_together_are_not_compared(logs: list[list[float]]) -> None:
    assert successive_differences.fitted(np.array(logs)) is None


@pytest.mark.parametrize("lost", [0.0, 0.25])
@pytest.mark.parametrize("sd", [(0.2,), (0.1, 0.1, 0.1, 0.5), (0.5, 0.5, 0.1, 0.1)])
def test_where_nothing_changes_a_step_is_rarely_named(sd: tuple[float, ...], lost: float) -> None:
    kinds = [
        trend.of(Ladder("p99", "size", LEVELS, table(seed, 1, 1, 1, 1, sd=sd, lost=lost))).kind
        for seed in range(600)
    ]
    selected = [kind for kind in kinds if kind != "unknown"]
    named = sum(kind not in {"unclear", "flat"} for kind in selected)
    assert len(selected) > 200
    assert named <= stats.binom.ppf(0.999, len(selected), 0.05), f"{named} of {len(selected)}"


def test_the_interval_of_a_step_holds_it_and_gaps_answer_more_often_than_whole_blocks() -> None:
    held = report = whole = 0
    for seed in range(600):
        logs = table(seed, 1, 1, 3, 3, sd=(0.1,))
        whole += int((~np.isnan(logs)).all(axis=1).sum() >= successive_differences.BLOCKS_MIN)
        result = successive_differences.fitted(logs)
        if result is not None:
            report += 1
            step, half = result.between(1, 2), result.between(1, 2).half(0.95, 1)
            held += abs(step.mean - math.log(3)) <= half
    assert held >= stats.binom.ppf(0.001, report, 0.95), f"{held} of {report}"
    assert report > 2 * whole


def test_three_whole_blocks_show_a_threefold_step() -> None:
    kinds = [
        trend.of(Ladder("p99", "size", LEVELS, table(seed, 1, 1, 3, 3, lost=0))).kind
        for seed in range(200)
    ]
    assert sum(kind in {"cliff", "knee", "rises"} for kind in kinds) > 0.66 * len(kinds)
