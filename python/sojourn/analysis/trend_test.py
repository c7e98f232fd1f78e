"""Trends of simulated numbers: what is planted is named, and what is not rarely."""

from __future__ import annotations

import math
from collections import Counter
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sojourn.analysis import trend
from sojourn.analysis.trend import Ladder
from sojourn.findings.effects import Trend
from sojourn.plan.setting import Setting
from sojourn.stats import ordered_levels
from sojourn.stats.successive_differences import Error, Step, Steps

SIZES = ("1", "2", "4", "8", "16")


def logs(*factors: float, blocks: int = 4, sd: float = 0.02, seed: int = 1) -> NDArray[np.float64]:
    """Log ratios to the lowest level of numbers whose medians are these, block by block."""
    noise = np.random.default_rng(seed).normal(0, sd, (blocks, len(factors)))
    result = np.log(np.array(factors)) + noise
    return np.asarray(result - result[:, :1])


def of(*factors: float, blocks: int = 4, sd: float = 0.02, seed: int = 1) -> Trend:
    made = logs(*factors, blocks=blocks, sd=sd, seed=seed)
    return trend.of(Ladder("p99", "size", SIZES[: len(factors)], made))


def test_numbers_that_differ_without_measure_leave_a_trend_unclear() -> None:
    """A stranger's record may have them, and few cells leave one degree of freedom."""
    gap = math.nan
    made = np.array([[gap, 7.0, -25.0], [gap, -17.0, gap], [9.0, -7.0, gap], [-2.0, gap, 27.0]])
    result = trend.of(Ladder("p99", "size", SIZES[:3], made))
    assert result.kind == "unclear"
    for _, lo, hi in result.curve:
        assert 0 < lo <= hi < math.inf


@pytest.mark.parametrize(
    ("factors", "kind", "text"),
    [
        ((1, 1, 1, 1, 1), "flat", "p99 is flat: within 10 % from size = 1 to 16"),
        ((1, 1, 1, 5, 5), "cliff", "p99 has a cliff between size = 4 and 8: × "),
        ((1, 1, 1, 1, 0.2), "cliff", "between size = 8 and 16: × "),
        ((1, 1, 1.5, 1.5, 1.5), "knee", "p99 has a knee between size = 2 and 4: × 1."),
        ((1, 1.5, 2.25, 3.4, 5.1), "rises", "p99 rises from size = 1 on: to 16 × "),
        (
            (1, 3, 1, 1, 1),
            "mixed",
            "goes up and down with size, first between size = 1 and 2: to 16",
        ),
        ((1, 1, 0.7, 0.5, 0.35), "falls", "p99 falls from size = 2 on: to 16 × 0.3"),
    ],
)
def test_what_is_planted_is_named(factors: tuple[float, ...], kind: str, text: str) -> None:
    result = of(*factors)
    assert result.kind == kind, result.sentence
    assert text in result.sentence
    assert (result.levels, result.blocks) == (SIZES, 4)
    if result.interval is not None:
        assert result.ratio is not None
        assert result.interval.lo < result.ratio < result.interval.hi


def test_what_is_not_shown_is_not_flat() -> None:
    result = of(1, 1, 1, 1, sd=0.5)
    assert result.kind == "unclear"
    assert "no step of p99 from size = 1 to 8 is sure: in all ×" in result.sentence


def test_one_block_tells_nothing() -> None:
    assert of(1, 5, 9, blocks=1).kind == "unknown"
    none = trend.of(Ladder("p99", "size", SIZES, np.empty((0, 5))))
    assert "2 blocks need valid runs of 1, 2, 4, 8, 16 (see run.repeats)" in none.sentence
    poor = logs(1, 5, 9, blocks=3)
    poor[:2, 1] = math.nan
    report = trend.of(Ladder("p99", "size", SIZES[:3], poor))
    assert (report.kind, report.ratio) == ("unknown", None)
    assert "2 blocks need valid runs of 2 (see run.repeats)" in report.sentence


def test_of_studies_without_any_change_one_in_twenty_names_a_step_at_most() -> None:
    kinds = Counter(of(1, 1, 1, 1, 1, sd=0.3, seed=seed, blocks=5).kind for seed in range(400))
    named = 400 - kinds["unclear"] - kinds["flat"]
    assert named <= stats.binom.ppf(0.999, 400, 0.05), kinds


def test_flat_is_reported_wrongly_of_a_number_at_the_edge_once_in_twenty_at_most() -> None:
    edge = math.exp(trend.FLAT)
    kinds = Counter(of(1, 1, edge, sd=0.02, seed=seed, blocks=5).kind for seed in range(400))
    assert kinds["flat"] <= stats.binom.ppf(0.999, 400, 0.05), kinds


def test_the_interval_of_a_step_holds_it() -> None:
    held = total = 0
    for seed in range(300):
        result = of(1, 1, 3, 3, sd=0.1, seed=seed, blocks=4)
        if result.kind == "cliff" and result.interval:
            total += 1
            held += result.interval.lo <= 3 <= result.interval.hi
    assert total > 250
    assert held >= 0.93 * total


def test_a_step_up_that_is_lost_again_is_no_rise() -> None:
    made = np.array([[0, 0.5, 0.5, -0.9], [0, 0.52, 0.5, 0.3], [0, 0.48, 0.5, -0.7]])
    result = trend.of(Ladder("p99", "size", ("1", "2", "4", "8"), made))
    assert result.kind == "mixed"
    assert "goes up with size, first between size = 1 and 2: to 8 × 0.648" in result.sentence


def test_a_step_up_is_no_rise_where_it_surely_falls_in_all() -> None:
    made = np.array([[0, 0.2, -0.1, -0.3], [0, 0.21, 0.1, -0.31], [0, 0.2, -0.3, -0.3]])
    result = trend.of(Ladder("max RPS", "size", ("1", "2", "4", "8"), made))
    assert result.interval is not None
    assert result.interval.hi < 1
    assert "goes up and down with size, first between size = 1 and 2: to 8 ×" in result.sentence


def test_blocks_with_lost_requests_are_not_left_out() -> None:
    made = logs(1, 1, 5)
    made[2] = [0, math.inf, math.inf]
    result = trend.of(Ladder("p99", "size", SIZES[:3], made))
    assert (result.kind, result.ratio) == ("unknown", None)
    assert "it is infinite in 1 of 4 blocks" in result.sentence


def infinite(*factors: float, blocks: int, at: int) -> NDArray[np.float64]:
    """One block of all is infinite from a level on."""
    made = logs(*factors, blocks=blocks)
    made[2, at:] = math.inf
    return made


def test_ranks_decide_where_a_block_is_infinite() -> None:
    rises = trend.of(Ladder("p99", "size", SIZES[:3], infinite(1, 1, 5, blocks=9, at=1)))
    assert rises.kind == "rises", rises.sentence
    assert rises.interval is not None
    assert rises.interval.lo < 5 < rises.interval.hi
    assert rises.curve == ()
    assert "p99 rises from size = 1 to 4: in all × " in rises.sentence
    assert rises.sentence.endswith(", by the median, for it is infinite in 1 of 9 blocks")
    falls = infinite(1, 1, 0.2, blocks=9, at=3)
    falls[2, 1] = math.inf  # only in the middle: both ends are finite
    assert trend.of(Ladder("p99", "size", SIZES[:3], falls)).kind == "falls"


def test_without_an_answer_by_ranks_the_sentence_has_the_reason() -> None:
    few = trend.of(Ladder("p99", "size", SIZES[:3], infinite(1, 1, 5, blocks=8, at=1)))
    assert few.kind == "unknown"
    assert few.sentence.endswith("; with 9 blocks the median has an interval")
    same = trend.of(Ladder("p99", "size", SIZES[:3], infinite(1, 1, 1, blocks=12, at=0)))
    assert same.kind == "unknown"
    assert "by the median it is in all × " in same.sentence
    assert same.sentence.endswith("which shows no change")
    most = logs(1, 1, 5, blocks=9)
    most[:5, 2] = math.inf
    half = trend.of(Ladder("p99", "size", SIZES[:3], most))
    assert half.kind == "unknown"
    assert "with" not in half.sentence, "more blocks do not make its median finite"


def test_of_infinite_blocks_without_a_change_one_in_twenty_is_named_at_most() -> None:
    kinds = Counter[str]()
    for seed in range(400):
        made = logs(1, 1, 1, blocks=10, sd=0.3, seed=seed)
        made[seed % 10, 2 * (seed % 2)] = math.inf
        kinds[trend.of(Ladder("p99", "size", SIZES[:3], made)).kind] += 1
    assert 400 - kinds["unknown"] <= stats.binom.ppf(0.999, 400, 0.05), kinds


class _Made:
    """Two steps: a small one that is very sure, and a large one that is sure by Holm alone."""

    levels = 3

    def between(self, lower: int, higher: int) -> Step:
        mean, size = {(0, 1): (0.05, 0.005), (1, 2): (1.0, 0.42), (0, 2): (1.05, 0.42)}[
            lower, higher
        ]
        return Step(mean=mean, errors=(Error(size=size, freedom=10),))


def test_a_step_of_which_the_interval_includes_no_change_is_not_named() -> None:
    """1.0/0.42 is 2.38 standard errors: beyond 2.23 (one test), within 2.63 (two at once)."""
    made = cast(Steps, _Made())
    assert trend._sure(made) == [0, 1]
    result = trend._shape(Ladder("p99", "size", SIZES[:3], logs(1, 1, 3)), made)
    assert result.kind == "rises"
    assert result.interval is not None
    assert result.interval.lo > 1
    assert result.between == ()


def test_blocks_that_agree_to_the_last_digit_are_no_proof() -> None:
    same = np.log(np.array([[1.0, 1.0, 1.002]] * 2))
    result = trend.of(Ladder("p99", "size", SIZES[:3], same))
    assert result.kind == "flat"
    assert all(lo < ratio < hi for ratio, lo, hi in result.curve[1:])


def test_a_doubt_is_beside_it() -> None:
    late = "the client's own lateness is part of it"
    result = trend.of(Ladder("p99", "size", SIZES[:3], logs(1, 1, 1), late))
    assert result.sentence.endswith(f"to 4, but {late}")


SIZE, BESIDE = "services.a.params.size", "neighbour"


def at(size: int, beside: str) -> Setting:
    return Setting.of({SIZE: size, BESIDE: beside})


def block(seed: int, *without: Setting) -> dict[Setting, float]:
    """Alone it is flat; beside another it is four times as long from size 2 on."""
    rng = np.random.default_rng(seed)
    wave = rng.normal(0, 0.03, 6)
    truth = [
        (size, who, 4.0 if who == "spin" and size > 1 else 1.0)
        for size in (1, 2, 4)
        for who in ("none", "spin")
    ]
    results = {at(s, w): v * math.exp(e) for (s, w, v), e in zip(truth, wave, strict=True)}
    return {cell: value for cell, value in results.items() if cell not in without}


def test_levels_are_compared_under_the_same_levels_of_other_factors_only() -> None:
    gap = at(4, "spin")
    result = ordered_levels.logs(SIZE, (1, 2, 4), {n: block(n, gap) for n in range(4)})
    assert result.shape == (4, 3)
    assert np.abs(result).max() < 0.2, "alone it is flat; what is missing takes its kind with it"
    one = ordered_levels.logs(SIZE, (1, 2, 4), {0: block(0), 1: block(1), 2: block(2, gap)})
    assert np.isnan(one).tolist() == [[False] * 3, [False] * 3, [False, False, True]]
    assert one[:, 1] == pytest.approx(math.log(4) / 2, abs=0.15), "one gap, in one block"
    few = ordered_levels.logs(SIZE, (1, 2, 4), {0: block(0), 1: block(1, gap), 2: block(2, gap)})
    assert np.abs(few).max() < 0.2, "two of three: it is left out in all blocks alike"
    whole = ordered_levels.logs(SIZE, (1, 2, 4), {n: block(n) for n in range(4)})
    assert whole[:, 1] == pytest.approx(math.log(4) / 2, abs=0.15)
    none = ordered_levels.logs(SIZE, (1, 2, 4), {0: block(0, gap, at(2, "none"))})
    assert np.isnan(none).all()


def test_an_infinite_number_is_infinite_in_its_block_only() -> None:
    lost = {**block(1), at(2, "spin"): math.inf}
    result = ordered_levels.logs(SIZE, (1, 2, 4), {0: block(0), 1: lost})
    assert np.isfinite(result[0]).all()
    assert np.isinf(result).sum() == 1
