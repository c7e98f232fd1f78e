"""Closed forms: golden numbers of METHOD, limits, and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sojourn.stats import queue_autocorrelation, queueing
from sojourn.stats.testing import mg1, mmn

RHOS = (0.5, 0.7, 0.8, 0.9)


@pytest.mark.parametrize(
    ("rho", "p95", "p99"),
    [(0.5, 5.99, 9.21), (0.7, 9.99, 15.35), (0.8, 14.98, 23.03), (0.9, 29.96, 46.05)],
)
def test_mm1_has_the_golden_quantiles(rho: float, p95: float, p99: float) -> None:
    assert queueing.mmn_quantile(0.95, 1, rho, 1.0) == pytest.approx(p95, abs=0.006)
    assert queueing.mmn_quantile(0.99, 1, rho, 1.0) == pytest.approx(p99, abs=0.006)


def test_lqos_and_five_fold_low_load_limits_are_those_of_the_method() -> None:
    """p95 = 5 S at ρ = 1 − ln 20 / 5 = 0.401; p95 = 5 × p95 at 10 % load at ρ = 0.82."""
    assert queueing.mmn_quantile(0.95, 1, 1 - math.log(20) / 5, 1.0) == pytest.approx(5)
    assert 1 - math.log(20) / 5 == pytest.approx(0.401, abs=5e-4)
    low = queueing.mmn_quantile(0.95, 1, 0.1, 1.0)
    assert queueing.mmn_quantile(0.95, 1, 0.82, 1.0) == pytest.approx(5 * low)


@pytest.mark.parametrize("rho", RHOS)
def test_the_survivor_of_one_server_is_exponential(rho: float) -> None:
    for time in (0.1, 1.0, 7.0):
        wanted = math.exp(-(1 - rho) * time)
        assert queueing.mmn_over(1, rho, 1.0, time) == pytest.approx(wanted)


@pytest.mark.parametrize("servers", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("rho", [0.05, 0.5, 0.5 + 1e-12, 0.9, 0.99])
def test_mmn_quantile_inverts_its_survivor_and_the_mean_is_its_integral(
    servers: int, rho: float
) -> None:
    for q in (0.1, 0.5, 0.99, 0.9999):
        time = queueing.mmn_quantile(q, servers, rho, 2.0)
        assert queueing.mmn_over(servers, rho, 2.0, time) == pytest.approx(1 - q, rel=1e-6)
    grid = np.linspace(0, queueing.mmn_quantile(1 - 1e-9, servers, rho, 2.0), 20_001)
    survivor = [queueing.mmn_over(servers, rho, 2.0, float(t)) for t in grid]
    mean = float(np.trapezoid(survivor, grid))
    assert mean == pytest.approx(queueing.mmn_mean(servers, rho, 2.0), rel=1e-3)


def test_erlang_c_has_its_textbook_values() -> None:
    """Two servers: 2ρ² / (1 + ρ). Ten at ρ = 0.8: 0.4092 (Gross et al., 2.3)."""
    assert queueing.erlang_c(2, 0.9) == pytest.approx(2 * 0.81 / 1.9)
    assert queueing.erlang_c(10, 0.8) == pytest.approx(0.4092, abs=1e-4)


@pytest.mark.parametrize("rho", RHOS)
def test_md1_waits_equal_erlangs_sum_where_that_still_has_digits(rho: float) -> None:
    times = np.array([0.0, 0.3, 1.0, 1.7, 4.2, 8.9])

    def erlang(t: float) -> float:
        terms = (
            (rho * (k - t)) ** k / math.factorial(k) * math.exp(-rho * (k - t))
            for k in range(math.floor(t) + 1)
        )
        return (1 - rho) * sum(terms)

    wanted = [erlang(float(t)) for t in times]
    assert queueing.md1_waiting(rho, times) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("rho", RHOS)
def test_md1_mean_is_the_integral_of_its_waits(rho: float) -> None:
    grid = np.linspace(0, 25 / (1 - rho), 6_001)
    mean = 1 + float(np.trapezoid(1 - queueing.md1_waiting(rho, grid), grid))
    assert mean == pytest.approx(queueing.md1_mean(rho, 1), rel=2e-3)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("q", [0.95, 0.99])
def test_md1_quantiles_agree_with_simulation(rho: float, q: float) -> None:
    """The exceedance share's sigma is that of independent requests times √(n / n_eff); four."""
    n = 2_000_000
    times = mg1(np.random.default_rng(31), rho, n, service=np.ones(n))[n // 20 :]
    at = queueing.md1_quantile(q, rho, 1.0)
    sigma = math.sqrt(q * (1 - q) / len(times) * queue_autocorrelation.ratio("M/D/1", rho, at))
    assert abs(float((times > at).mean()) - (1 - q)) < 4 * sigma


@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_two_servers_agree_with_simulation(rho: float) -> None:
    times = mmn(np.random.default_rng(5), 2, rho, 200_000)[10_000:]
    for q in (0.95, 0.99):
        at = queueing.mmn_quantile(q, 2, rho, 1.0)
        sigma = math.sqrt(
            q * (1 - q) / len(times) * queue_autocorrelation.ratio("M/M/n", rho, at / 2)
        )
        assert abs(float((times > at).mean()) - (1 - q)) < 4 * sigma


def test_a_queue_without_steady_state_is_refused() -> None:
    for rho in (0.0, 1.0, 1.2):
        with pytest.raises(ValueError, match="no steady state"):
            queueing.mmn_quantile(0.99, 1, rho, 1.0)
        with pytest.raises(ValueError, match="no steady state"):
            queueing.md1_quantile(0.99, rho, 1.0)


def test_a_constant_service_alone_is_the_quantile_of_those_who_do_not_wait() -> None:
    """In M/D/1 a share 1 − ρ does not wait."""
    for q in (0.1, 0.4, 0.6):
        assert queueing.md1_quantile(q, 0.4, 3.0) == 3.0
    assert queueing.md1_quantile(0.61, 0.4, 3.0) > 3.0
    for rho in (0.2, 0.95):
        at = queueing.md1_quantile(0.97, rho, 1.0) - 1
        assert float(queueing.md1_waiting(rho, np.array([at]))[0]) == pytest.approx(0.97)


def test_every_formula_refuses_a_queue_without_steady_state() -> None:
    for rho in (0.0, 1.0):
        for refused in (
            lambda rho: queueing.erlang_c(2, rho),
            lambda rho: queueing.mmn_mean(2, rho, 1.0),
            lambda rho: queueing.md1_mean(rho, 1.0),
            lambda rho: queueing.md1_waiting(rho, np.array([1.0])),
        ):
            with pytest.raises(ValueError, match="no steady state"):
                refused(rho)


def test_the_number_in_an_md1_system_is_that_of_its_generating_function() -> None:
    """p₁ = (1 − ρ)(e^ρ − 1); the mean is Pollaczek and Khinchine's by Little's law."""
    rho = 0.7
    p = queueing._md1_number(rho, 200)
    assert p[:2] == pytest.approx([1 - rho, (1 - rho) * (math.exp(rho) - 1)])
    assert p.sum() == pytest.approx(1.0)
    assert float(np.arange(201) @ p) == pytest.approx(rho * queueing.md1_mean(rho, 1.0))
