"""Theory of dependence, against a formula and against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.stats import queue_autocorrelation, queueing
from sojourn.stats.testing import mg1
from sojourn.stats.times import Floats


@pytest.mark.parametrize("rho", [0.5, 0.7, 0.8, 0.9])
def test_the_grid_keeps_the_mean_and_law_of_the_queue(rho: float) -> None:
    middle, law, _ = queue_autocorrelation._chain("M/M/1", rho)
    assert float(law @ middle) == pytest.approx(1 / (1 - rho), rel=0.01)
    middle, law, _ = queue_autocorrelation._chain("M/D/1", rho)
    assert float(law @ middle) == pytest.approx(queueing.md1_mean(rho, 1), rel=0.05)


@pytest.mark.parametrize("rho", [0.5, 0.8, 0.9])
def test_sojourn_times_of_mm1_follow_whitt(rho: float) -> None:
    """Asymptotic variance of M/M/1 waits, Whitt (1989): ρ(2 + 5ρ − 4ρ² + ρ³) / (1 − ρ)⁴.

    A sojourn is the wait plus an own service of variance 1 that also delays those behind. Its
    asymptotic variance lies between the waits' own and, by Cauchy and Schwarz, the square of the
    sum of both standard deviations.
    """
    waits = rho * (2 + 5 * rho - 4 * rho**2 + rho**3) / (1 - rho) ** 4
    own = queue_autocorrelation.ratio("M/M/1", rho, None) / (1 - rho) ** 2
    assert waits < own < 1.01 * (waits**0.5 + 1) ** 2  # 1 % for the grid


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
    result = float(batches.var(ddof=1)) * (n / 400) / float(f.var())
    assert queue_autocorrelation.ratio(system, rho, over) == pytest.approx(result, rel=0.28)


@pytest.mark.parametrize("rho", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_the_mean_of_mm1_is_its_closed_form(rho: float) -> None:
    """1 + 4ρ/(1 − ρ)²: g = ρ/(2(1 − ρ)) (x² + 2(1 − ρ)x/ρ) solves Poisson's equation of x.

    For T' = max(T − A, 0) + S the terms e^(−ρx) of x² and x cancel, so no other is needed.
    """
    assert queue_autocorrelation.ratio("M/M/1", rho, None) == pytest.approx(
        1 + 4 * rho / (1 - rho) ** 2, rel=0.01
    )
    assert queue_autocorrelation.ratio("M/M/n", rho, None) == queue_autocorrelation.ratio(
        "M/M/1", rho, None
    )


@pytest.mark.parametrize("rho", [0.3, 0.5, 0.8, 0.9])
def test_the_mean_of_md1_is_its_closed_form(rho: float) -> None:
    """The same g; moments of the wait by Takács' recursion, with a service of 1."""
    scale = rho / (1 - rho)
    w1 = scale / 2
    w2 = scale * (2 * w1 / 2 + 1 / 3)
    w3 = scale * (3 * w2 / 2 + 3 * w1 / 3 + 1 / 4)
    t1, t2, t3 = w1 + 1, w2 + 2 * w1 + 1, w3 + 3 * w2 + 3 * w1 + 1
    slope = 2 * (1 - rho) / rho
    product = scale / 2 * (t3 + slope * t2 - t1 * (t2 + slope * t1))
    assert queue_autocorrelation.ratio("M/D/1", rho, None) == pytest.approx(
        2 * product / (t2 - t1**2) - 1, rel=0.04
    )


@pytest.mark.parametrize("q", [0.5, 0.95, 0.99])
def test_an_exceedance_of_mm1_depends_as_a_finer_chain_has_it(q: float) -> None:
    """Σ cov(1{T₀ > t}, 1{T_k > t}) by powers of a chain between points, not cells."""
    rho, step, cells = 0.5, 0.05, 600
    over = -np.log(1 - q) / (1 - rho)
    x = (np.arange(cells) + 0.5) * step
    edges = np.arange(cells + 1) * step

    def below(y: float) -> Floats:
        """P(T' ≤ y | T = x): wait 0 with e^(−ρx), else density ρe^(−ρ(x − w)) up to x."""
        top = np.minimum(x, y)
        waited = np.exp(-rho * x) * (
            np.exp(rho * top) - 1 - rho / (1 + rho) * np.exp(-y) * (np.exp((1 + rho) * top) - 1)
        )
        return np.asarray(np.exp(-rho * x) * (1 - np.exp(-y)) + waited, float)

    law = np.diff(1 - np.exp(-(1 - rho) * edges))
    chain = np.diff(np.stack([below(float(y)) for y in edges], axis=1), axis=1)
    f = (x > over).astype(float)
    f = f - float(law @ f)
    g = total = float(law @ f**2)
    now = f
    for _ in range(400):
        now = chain @ now
        total += 2 * float(law @ (f * now))
    assert queue_autocorrelation.ratio("M/M/1", rho, over) == pytest.approx(total / g, rel=0.03)


def test_what_never_happens_or_always_does_is_as_good_as_independent() -> None:
    assert queue_autocorrelation.ratio("M/M/1", 0.5, 1e9) == 1.0
    assert queue_autocorrelation.ratio("M/D/1", 0.5, 0.0) == pytest.approx(1.0)
