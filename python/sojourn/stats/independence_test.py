"""n_eff: of independent times, of a queue against theory, of a thinned sample."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sojourn.stats import independence, queue_autocorrelation
from sojourn.stats.testing import mg1
from sojourn.stats.times import EMPTY, Floats, from_values


def by_batches(times: Floats, q: float | None, parts: int = 20) -> float:
    batch_ratio = independence.of_batches([from_values(p) for p in np.array_split(times, parts)], q)
    assert batch_ratio is not None
    return batch_ratio.ratio


def test_independent_times_keep_their_number() -> None:
    """Σρ of n independent ranks is cut at its first lag below noise; most stop at lag 1."""
    rng = np.random.default_rng(9)
    correlations = [
        independence.of_values(rng.exponential(1, 5_000)).correlation for _ in range(40)
    ]
    assert np.mean(correlations) < 1.05
    assert max(correlations) < 1.3


def test_times_that_come_nine_at_a_time_count_for_a_ninth_at_the_median() -> None:
    """19 degrees of freedom: one sigma of a ratio is 32 %; the mean of 30 is within 4 × 6 %."""
    rng = np.random.default_rng(11)
    result = np.mean([by_batches(np.repeat(rng.exponential(1, 2_000), 9), 0.5) for _ in range(30)])
    assert result == pytest.approx(9, rel=0.24)


def test_ranks_of_a_chain_of_known_correlation() -> None:
    """AR(1): n / n_eff of the values is (1 + φ) / (1 − φ) = 9; of the ranks 5 % less."""
    rng = np.random.default_rng(2)
    noise = rng.standard_normal(200_000)
    values = np.empty_like(noise)
    values[0] = noise[0]
    for i in range(1, len(noise)):
        values[i] = 0.8 * values[i - 1] + noise[i]
    dependence = independence.of_values(values)
    assert dependence.correlation == pytest.approx(9, rel=0.12)
    assert dict(dependence.lags)[1] == pytest.approx(0.79, abs=0.02)
    assert dependence.block == 2 * dependence.first_insignificant


@pytest.mark.parametrize("q", [None, 0.95, 0.99])
def test_batches_of_a_queue_agree_with_theory(q: float | None) -> None:
    """19 degrees of freedom: one sigma of a ratio is 32 %; the mean of 30 is within 4 × 6 %."""
    rng = np.random.default_rng(7)
    rho = 0.7
    over = None if q is None else -np.log(1 - q) / (1 - rho)
    result = np.mean([by_batches(mg1(rng, rho, 220_000)[20_000:], q) for _ in range(30)])
    assert result == pytest.approx(queue_autocorrelation.ratio("M/M/1", rho, over), rel=0.24)


def test_few_batches_are_widened_to_student() -> None:
    batch_ratio = independence.Batched(ratio=4.0, freedom=9)
    assert independence.widened(batch_ratio, 0.95) == pytest.approx(
        4 * (2.262 / 1.96) ** 2, rel=1e-3
    )
    alone = independence.Batched(ratio=1.0, freedom=9)
    assert independence.widened(alone, 0.95) == 1


def test_too_few_slices_say_nothing() -> None:
    slices = [from_values(np.arange(100.0))] * 7
    assert independence.of_batches(slices, 0.99) is None


def test_lost_requests_in_one_slice_are_dependence() -> None:
    calm = np.random.default_rng(3).exponential(1, (20, 1_000))
    broken = calm.copy()
    broken[7, :300] = np.inf
    slices = [from_values(part) for part in broken]
    batch_ratio = independence.of_batches(slices, 0.99)
    assert batch_ratio is not None
    assert batch_ratio.ratio > 50


def test_times_that_never_differ_are_as_good_as_independent() -> None:
    slices = [from_values(np.full(100, 5.0)) for _ in range(10)]
    for q in (None, 0.99):
        batch_ratio = independence.of_batches(slices, q)
        assert batch_ratio is not None
        assert (batch_ratio.ratio, batch_ratio.freedom) == (1.0, 9)


def test_ranks_of_a_few_values_by_the_definition() -> None:
    """Σ r_i r_{i+k} / Σ r², r the rank less the mean rank; M9's lags below half the length."""
    values = np.random.default_rng(4).permutation(np.arange(20.0)) ** 3
    ranks = stats.rankdata(values) - 10.5
    whole = float(ranks @ ranks)
    dependence = independence.of_values(values)
    assert [lag for lag, _ in dependence.lags] == [1, 2, 5]
    for lag, rho in dependence.lags:
        assert rho == pytest.approx(float(ranks[:-lag] @ ranks[lag:]) / whole)


def test_the_sum_ends_at_the_first_lag_below_noise() -> None:
    """Of 100 values in two blocks ρ falls with the lag; the limit is 1.96/√100."""
    values = np.repeat([0.0, 1.0], 50)
    ranks = np.repeat([-1.0, 1.0], 50)
    rho = [float(ranks[: 100 - k] @ ranks[k:]) / 100 for k in range(50)]
    first = next(k for k in range(1, 50) if rho[k] < 1.959964 / 10)
    dependence = independence.of_values(values)
    assert (dependence.first_insignificant, dependence.block) == (first, 2 * first)
    assert dependence.correlation == pytest.approx(1 + 2 * sum(rho[1:first]))


def test_without_noise_to_fall_below_all_lags_count_and_few_values_have_none() -> None:
    line = independence.of_values(np.arange(8.0))
    ranks = np.arange(8) - 3.5
    rho = [float(ranks[: 8 - k] @ ranks[k:]) / 42 for k in range(4)]
    assert rho[1] < 1.96 / 8**0.5  # eight values say nothing
    assert (line.first_insignificant, line.correlation) == (1, 1.0)
    for values in (np.arange(3.0), np.full(50, 7.0)):
        none = independence.of_values(values)
        assert (none.lags, none.first_insignificant, none.correlation) == ((), 1, 1.0)
    assert dict(independence.of_values(np.array([1.0, 2.0, 3.0, 4.0])).lags) == pytest.approx(
        {1: 0.25}
    )


@pytest.mark.parametrize(
    ("slices", "batches"), [(8, 8), (20, 20), (39, 39), (40, 20), (59, 29), (60, 20), (61, 20)]
)
def test_slices_are_put_together_to_about_twenty_batches(slices: int, batches: int) -> None:
    rng = np.random.default_rng(1)
    parts = [from_values(rng.exponential(1, 50)) for _ in range(slices)]
    batch_ratio = independence.of_batches(parts, 0.5)
    assert batch_ratio is not None
    assert batch_ratio.freedom == batches - 1
    assert independence.of_batches([*parts[:7], EMPTY, EMPTY], 0.5) is None


def test_the_ratio_is_the_batches_variance_over_that_of_independent_requests() -> None:
    """A second computation from raw numbers: 10 batches of unlike size, all kept."""
    rng = np.random.default_rng(6)
    raw = [rng.exponential(1 + k % 3, 40 + 5 * k) for k in range(10)]
    whole = np.sort(np.concatenate(raw))
    n = len(whole)
    cut = whole[int(np.ceil(0.9 * n)) - 1]
    share = float((whole > cut).mean())
    over = [float((part > cut).sum()) - share * len(part) for part in raw]
    wanted = sum(x * x for x in over) / 9 / (n / 10 * share * (1 - share))
    batch_ratio = independence.of_batches([from_values(part) for part in raw], 0.9)
    assert batch_ratio is not None
    assert batch_ratio.ratio == pytest.approx(max(1.0, wanted))
    assert wanted > 1.5
    mean = [float(part.sum()) - float(whole.mean()) * len(part) for part in raw]
    wanted = sum(x * x for x in mean) / 9 / (n / 10 * float(whole.var(ddof=1)))
    batch_ratio = independence.of_batches([from_values(part) for part in raw], None)
    assert batch_ratio is not None
    assert batch_ratio.ratio == pytest.approx(wanted)
    assert wanted > 1.5


def test_an_infinite_quantile_has_the_lost_requests_for_its_count() -> None:
    """A tenth of every batch is lost, 5 more in one: p95 is infinite."""
    raw = [np.concatenate([np.arange(90.0), np.full(10, np.inf)]) for _ in range(10)]
    raw[3][:20] = np.inf
    lost = np.array([10.0] * 10)
    lost[3] = 30
    share = 120 / 1_000
    wanted = float(((lost - share * 100) ** 2).sum()) / 9 / (100 * share * (1 - share))
    batch_ratio = independence.of_batches([from_values(part) for part in raw], 0.95)
    assert batch_ratio is not None
    assert batch_ratio.ratio == pytest.approx(wanted)
    gone = independence.of_batches([from_values(np.full(5, np.inf))] * 8, None)
    assert gone == independence.Batched(ratio=1.0, freedom=7)


def test_a_ratio_that_is_known_otherwise_is_not_widened() -> None:
    assert independence.widened(independence.Batched(ratio=4.0, freedom=np.inf), 0.95) == 4.0
    assert independence.widened(independence.Batched(ratio=0.5, freedom=3), 0.95) == 0.5
