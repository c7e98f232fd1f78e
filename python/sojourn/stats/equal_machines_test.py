"""Equal machines: planted components come back, and a library finds the same."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from sojourn.stats import equal_machines
from sojourn.stats.equal_machines import Equal, crossed, of_estimates
from sojourn.stats.times import Floats

SERIES = 300
LEAST = 0.9  # of the intervals, each of which is to cover 95 %


def made(
    rng: np.random.Generator, shape: tuple[int, int], machines: float, blocks: float, runs: float
) -> Floats:
    """One number of each machine in each block; the mean is 0."""
    of_machines = rng.normal(0, 1, (shape[0], 1)) * machines
    of_blocks = rng.normal(0, 1, (1, shape[1])) * blocks
    return of_machines + of_blocks + rng.normal(0, 1, shape) * runs


def known(values: Floats) -> Equal:
    result = crossed(values)
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("shape", "machines", "blocks", "runs"),
    [
        ((2, 3), 0.05, 0.0, 0.05),
        ((3, 3), 0.05, 0.02, 0.05),
        ((4, 4), 0.05, 0.10, 0.02),
        ((4, 4), 0.0, 0.0, 0.05),
        ((8, 5), 0.05, 0.05, 0.05),
        ((16, 2), 0.10, 0.0, 0.02),
        ((8, 3), 0.02, 0.10, 0.02),
    ],
)
def test_what_was_planted_lies_in_the_intervals(
    shape: tuple[int, int], machines: float, blocks: float, runs: float
) -> None:
    rng = np.random.default_rng(31)
    hits = np.zeros(4)
    for _ in range(SERIES):
        result = known(made(rng, shape, machines, blocks, runs))
        ends = (
            (result.interval, 0.0),
            (result.another, machines * float(rng.normal())),
            (result.machines.interval, machines),
            (result.runs.interval if result.runs else None, runs),
        )
        hits += [one is not None and one.lo <= value <= one.hi for one, value in ends]
    # So many hits are not likely by chance if an interval covered less.
    assert min(hits) >= stats.binom.ppf(0.95, SERIES, LEAST)


def test_an_interval_of_runs_alone_does_not_cover_machines_like_these() -> None:
    """What the blocks say of these very machines is no statement about others."""
    rng = np.random.default_rng(7)
    hits = narrow = 0
    for _ in range(SERIES):
        values = made(rng, (4, 8), 0.05, 0.0, 0.02)
        result = known(values)
        half = 2 * float(values.std(axis=1, ddof=1).mean()) / math.sqrt(values.size)
        hits += result.interval.lo <= 0 <= result.interval.hi
        narrow += abs(result.mean) <= half
    assert hits >= stats.binom.ppf(0.95, SERIES, LEAST)
    assert narrow < SERIES / 2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_library_finds_the_same_by_restricted_maximum_likelihood(seed: int) -> None:
    import statsmodels.api as sm  # noqa: PLC0415  # it loads for a second

    count, blocks = 6, 5
    values = made(np.random.default_rng(seed), (count, blocks), 0.08, 0.05, 0.03)
    result = known(values)
    groups = np.repeat(np.arange(count), blocks)
    design = sm.add_constant(np.tile(np.eye(blocks)[:, 1:], (count, 1)))  # blocks are cleared away
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.MixedLM(values.ravel(), design, groups).fit(reml=True)
    assert result.runs is not None
    assert result.machines.sigma**2 == pytest.approx(float(model.cov_re.ravel()[0]), rel=1e-3)
    assert result.runs.sigma**2 == pytest.approx(float(model.scale), rel=1e-3)


def test_the_mean_has_the_interval_of_one_way_analysis_where_blocks_do_not_differ() -> None:
    values = np.array([[1.0, 1.2], [2.0, 2.2], [3.1, 2.9]])
    values -= values.mean(axis=0)  # blocks are alike
    result = known(values)
    means = values.mean(axis=1)
    half = stats.t.ppf(0.975, 2) * means.std(ddof=1) / math.sqrt(3)
    assert result.interval.hi == pytest.approx(half, rel=1e-9)
    assert result.interval.lo == pytest.approx(-half, rel=1e-9)
    assert result.another.hi == pytest.approx(half * 2, rel=1e-9)  # √(1 + 3)


def test_what_windows_say_divides_the_runs() -> None:
    rng = np.random.default_rng(3)
    of_starts = hits = 0
    for _ in range(SERIES):
        levels = made(rng, (4, 5), 0.05, 0.0, 0.04)
        windows = levels[..., None] + rng.normal(0, 0.1, (4, 5, 10))
        flat = [list(run) for run in windows.reshape(-1, 10)]
        result = crossed(windows.mean(axis=2), equal_machines.within(flat))
        assert result is not None
        assert result.starts is not None
        assert result.windows is not None
        of_starts += result.starts.interval.lo <= 0.04 <= result.starts.interval.hi
        hits += result.windows.interval.lo <= 0.1 <= result.windows.interval.hi
    assert min(of_starts, hits) >= stats.binom.ppf(0.95, SERIES, LEAST)


def test_windows_with_stalls_have_an_interval_that_covers() -> None:
    """A stall is in few windows and several at once, so these are no independent normal draws."""
    rng = np.random.default_rng(5)

    def stalled(runs: int) -> Floats:
        values = rng.normal(0, 0.2, (runs, 41))
        for run in values:
            for at in range(int(rng.integers(30)), 41, 30):
                run[at : at + int(rng.integers(1, 5))] += rng.uniform(1, 3)
        return values

    truth = math.sqrt(float(stalled(20_000).var(axis=1, ddof=1).mean()))
    hits = 0
    for _ in range(SERIES):
        known = equal_machines.within([list(run) for run in stalled(12)])
        assert known is not None
        ends = known.component.interval
        hits += ends.lo <= truth <= ends.hi
    assert hits >= stats.binom.ppf(0.95, SERIES, LEAST)


def test_two_machines_are_one_difference() -> None:
    result = known(made(np.random.default_rng(2), (2, 6), 0.05, 0.0, 0.02))
    assert not result.is_known
    assert result.machines.interval.hi > 5 * result.machines.sigma
    assert known(made(np.random.default_rng(2), (3, 6), 0.05, 0.0, 0.02)).is_known


def test_numbers_with_intervals_of_their_own_are_not_counted_as_machines() -> None:
    rng = np.random.default_rng(5)
    hits = covers = 0
    for _ in range(SERIES):
        values = rng.normal(0, 0.03, 5) + rng.normal(0, 0.05, 5)
        result = of_estimates(list(values), [0.05] * 5)
        assert result is not None
        assert result.runs is None
        hits += result.machines.interval.lo <= 0.03 <= result.machines.interval.hi
        covers += result.interval.lo <= 0 <= result.interval.hi
    assert min(hits, covers) >= stats.binom.ppf(0.95, SERIES, LEAST)


def test_too_little_is_no_number() -> None:
    assert crossed(np.zeros((1, 5))) is None
    assert crossed(np.zeros((5, 1))) is None
    assert crossed(np.array([[1.0, np.inf], [1.0, 2.0]])) is None
    assert of_estimates([1.0], [0.1]) is None
    assert of_estimates([1.0, math.inf], [0.1, 0.1]) is None
    assert equal_machines.within([[1.0, 2.0], [1.0]]) is None


def test_numbers_that_agree_to_the_last_digit_still_have_an_interval() -> None:
    result = known(np.ones((4, 3)))
    assert 0 < result.interval.hi - result.interval.lo < 0.05
