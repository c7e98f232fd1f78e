"""How much one client carries: the bound holds in a simulated queue."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.hosts.need import CPU_SHARE_MAX, LATE_SHARE_MAX, TIMELY_NS, late_share, rate_max


def waits(rate_rps: float, cost_ns: float, requests: int) -> np.ndarray:
    """Waits in a queue with Poisson arrivals and a fixed service time, ns (Lindley)."""
    draw = np.random.default_rng(5)
    steps = cost_ns - draw.exponential(1e9 / rate_rps, requests)
    sums = np.concatenate([[0.0], np.cumsum(steps)])
    return sums - np.minimum.accumulate(sums)


@pytest.mark.parametrize("cost_ns", [2_000, 5_000, 12_000, 30_000])
def test_a_client_at_its_highest_rate_is_timely(cost_ns: float) -> None:
    rate = rate_max(cost_ns)
    late = float((waits(rate, cost_ns, 2_000_000) > TIMELY_NS).mean())
    assert late <= LATE_SHARE_MAX
    assert rate * cost_ns / 1e9 <= CPU_SHARE_MAX * (1 + 1e-9)


def test_the_bound_is_near_what_happens() -> None:
    """A bound that is far too safe asks for twice the machines."""
    cost_ns, busy = 10_000, 0.6
    late = float((waits(busy / cost_ns * 1e9, cost_ns, 2_000_000) > TIMELY_NS).mean())
    assert late <= late_share(busy, cost_ns, TIMELY_NS) <= 3 * late


def test_a_dearer_request_leaves_less_than_its_share() -> None:
    assert rate_max(5_000) > 2 * rate_max(10_000)
    assert rate_max(1_000) == pytest.approx(CPU_SHARE_MAX * 1e6)
