"""n_eff: of independent times, of a queue against theory, of a thinned sample."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.analysis import effect, independence
from sojourn.analysis.testing import mg1
from sojourn.analysis.times import Floats, from_values


def by_batches(times: Floats, q: float | None, parts: int = 20) -> float:
    found = independence.of_batches([from_values(p) for p in np.array_split(times, parts)], q)
    assert found is not None
    return found.ratio


def test_independent_times_keep_their_number() -> None:
    """Σρ of n independent ranks is cut at its first lag below noise; most stop at lag 1."""
    rng = np.random.default_rng(9)
    found = [independence.of_values(rng.exponential(1, 5_000)).correlation for _ in range(40)]
    assert np.mean(found) < 1.05
    assert max(found) < 1.3


def test_times_that_come_nine_at_a_time_count_for_a_ninth_at_the_median() -> None:
    """19 degrees of freedom: one sigma of a ratio is 32 %; the mean of 30 is within 4 × 6 %."""
    rng = np.random.default_rng(11)
    found = np.mean([by_batches(np.repeat(rng.exponential(1, 2_000), 9), 0.5) for _ in range(30)])
    assert found == pytest.approx(9, rel=0.24)


def test_ranks_of_a_chain_of_known_correlation() -> None:
    """AR(1): n / n_eff of the values is (1 + φ) / (1 − φ) = 9; of the ranks 5 % less."""
    rng = np.random.default_rng(2)
    noise = rng.standard_normal(200_000)
    values = np.empty_like(noise)
    values[0] = noise[0]
    for i in range(1, len(noise)):
        values[i] = 0.8 * values[i - 1] + noise[i]
    found = independence.of_values(values)
    assert found.correlation == pytest.approx(9, rel=0.12)
    assert dict(found.lags)[1] == pytest.approx(0.79, abs=0.02)
    assert found.block == 2 * found.first_insignificant


@pytest.mark.parametrize("q", [None, 0.95, 0.99])
def test_batches_of_a_queue_agree_with_theory(q: float | None) -> None:
    """19 degrees of freedom: one sigma of a ratio is 32 %; the mean of 30 is within 4 × 6 %."""
    rng = np.random.default_rng(7)
    rho = 0.7
    over = None if q is None else -np.log(1 - q) / (1 - rho)
    found = np.mean([by_batches(mg1(rng, rho, 220_000)[20_000:], q) for _ in range(30)])
    assert found == pytest.approx(effect.ratio("M/M/1", rho, over), rel=0.24)


def test_few_batches_are_widened_to_student() -> None:
    found = independence.Batched(ratio=4.0, freedom=9)
    assert independence.widened(found, 0.95) == pytest.approx(4 * (2.262 / 1.96) ** 2, rel=1e-3)
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
    found = independence.of_batches(slices, 0.99)
    assert found is not None
    assert found.ratio > 50


def test_times_that_never_differ_are_as_good_as_independent() -> None:
    slices = [from_values(np.full(100, 5.0)) for _ in range(10)]
    for q in (None, 0.99):
        found = independence.of_batches(slices, q)
        assert found is not None
        assert (found.ratio, found.freedom) == (1.0, 9)
