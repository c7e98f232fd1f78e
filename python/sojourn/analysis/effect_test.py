"""Theory of dependence, against a formula and against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.analysis import effect, queueing
from sojourn.analysis.testing import mg1


@pytest.mark.parametrize("rho", [0.5, 0.7, 0.8, 0.9])
def test_the_grid_keeps_the_mean_and_law_of_the_queue(rho: float) -> None:
    middle, law, _ = effect._chain("M/M/1", rho)
    assert float(law @ middle) == pytest.approx(1 / (1 - rho), rel=0.01)
    middle, law, _ = effect._chain("M/D/1", rho)
    assert float(law @ middle) == pytest.approx(queueing.md1_mean(rho, 1), rel=0.05)


@pytest.mark.parametrize("rho", [0.5, 0.8, 0.9])
def test_sojourn_times_of_mm1_follow_whitt(rho: float) -> None:
    """Asymptotic variance of M/M/1 waits, Whitt (1989): ρ(2 + 5ρ − 4ρ² + ρ³) / (1 − ρ)⁴.

    A sojourn is the wait plus an own service of variance 1 that also delays those behind. Its
    asymptotic variance lies between the waits' own and, by Cauchy and Schwarz, the square of the
    sum of both standard deviations.
    """
    waits = rho * (2 + 5 * rho - 4 * rho**2 + rho**3) / (1 - rho) ** 4
    mine = effect.ratio("M/M/1", rho, None) / (1 - rho) ** 2
    assert waits < mine < 1.01 * (waits**0.5 + 1) ** 2  # 1 % for the grid


@pytest.mark.parametrize(("system", "rho"), [("M/M/1", 0.5), ("M/M/1", 0.8), ("M/D/1", 0.8)])
@pytest.mark.parametrize("q", [None, 0.95, 0.99])
def test_ratio_agrees_with_simulated_batches(system: str, rho: float, q: float | None) -> None:
    """400 batches: one sigma of a variance is 7 %; within four."""
    rng = np.random.default_rng(20)
    n = 4_000_000
    times = mg1(rng, rho, n, service=np.ones(n) if system == "M/D/1" else None)
    over = None
    if q is not None:
        is_md1 = system == "M/D/1"
        over = (
            queueing.md1_quantile(q, rho, 1.0) if is_md1 else queueing.mmn_quantile(q, 1, rho, 1.0)
        )
    f = times if over is None else (times > over).astype(float)
    batches = f.reshape(400, -1).mean(axis=1)
    found = float(batches.var(ddof=1)) * (n / 400) / float(f.var())
    assert effect.ratio(system, rho, over) == pytest.approx(found, rel=0.28)
