"""Contrasts of blocks that lack runs, against statsmodels, and how often their intervals hold."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from sojourn.plan.setting import Setting
from sojourn.spec.design import Design
from sojourn.stats.incomplete_blocks import fitted
from sojourn.stats.log_ratio_contrasts import Contrast, ratio
from sojourn.stats.log_ratio_contrasts_test import by_block, cells

FRACTION = cells(Design(kind="fractional", p=1), "a", "b", "c", "d")
EFFECT = {"a": 0.6, "b": -0.2, "c": 0.0, "d": 1.1}
OF_A = Contrast(FRACTION, "a", 1, 2, is_fraction=True)


def gappy(seed: int, sd: float = 0.3, blocks: int = 3) -> dict[int, dict[Setting, float]]:
    """Three blocks of eight combinations, each without one or two that differ by block."""
    values = by_block(FRACTION, blocks, EFFECT, np.random.default_rng(seed), sd)
    for block in values:
        del values[block][FRACTION[block]], values[block][FRACTION[block + 4]]
    return values


def test_a_fraction_without_a_whole_block_still_tells_an_effect() -> None:
    values = gappy(1, sd=1e-9)
    assert OF_A.by_block(values) == ()
    result = fitted(OF_A, values)
    assert result is not None
    assert math.log(result.ratio) == pytest.approx(0.6)
    assert result.blocks == 3
    assert result.interval.hi / result.interval.lo > 1.001, "times have three digits"


def test_it_is_what_regression_on_dummies_says() -> None:
    values = gappy(2)
    result = fitted(OF_A, values)
    assert result is not None
    rows = [
        (math.log(value), str(block), str(FRACTION.index(cell)))
        for block, of in values.items()
        for cell, value in of.items()
    ]
    table = pd.DataFrame(rows, columns=["y", "block", "cell"])
    fit = smf.ols("y ~ C(block) + C(cell)", table).fit()
    weights = OF_A.weights(dict.fromkeys(FRACTION, 1.0)) or {}
    asked = np.zeros(len(fit.params))
    for nth, name in enumerate(fit.params.index):
        if name.startswith("C(cell)"):
            asked[nth] = weights[FRACTION[int(name.split("[T.")[1][:-1])]]
    outcome = fit.t_test(asked)
    assert math.log(result.ratio) == pytest.approx(float(outcome.effect[0]))
    low, high = np.ravel(outcome.conf_int())
    assert np.log([result.interval.lo, result.interval.hi]) == pytest.approx([low, high])


def test_of_whole_blocks_it_is_their_mean_and_chance_is_that_of_the_contrast() -> None:
    values = by_block(FRACTION, 3, EFFECT, np.random.default_rng(3), 0.3)
    result = fitted(OF_A, values)
    assert result is not None
    assert result.ratio == pytest.approx(ratio(OF_A.by_block(values))[0])
    assert result.spread == pytest.approx(OF_A.spread(values))


def test_nothing_is_reported_about_what_never_met_of_one_block_or_of_lost_requests() -> None:
    values = gappy(4)
    assert fitted(OF_A, {0: values[0]}) is None
    pair = Contrast((Setting.of(a=1), Setting.of(a=2)), "a", 1, 2, is_fraction=False)
    apart = {0: {Setting.of(a=1): 1.0}, 1: {Setting.of(a=2): 2.0}, 2: {Setting.of(a=2): 2.0}}
    assert fitted(pair, apart) is None
    values[1][FRACTION[0]] = math.inf
    assert fitted(OF_A, values) is None


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    times, held = 2000, 0
    for seed in range(times):
        result = fitted(OF_A, gappy(seed))
        assert result is not None
        held += result.interval.lo <= math.exp(0.6) <= result.interval.hi
    assert held / times == pytest.approx(0.95, abs=5 * math.sqrt(0.95 * 0.05 / times))
