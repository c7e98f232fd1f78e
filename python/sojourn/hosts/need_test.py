"""How much one client carries: as in a simulated queue, and never far from it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sojourn.hosts import need
from sojourn.hosts.need import CPU_SHARE_MAX, LATE_SHARE_MAX, TIMELY_NS, late_share, rate_max

REQUESTS = 1_000_000


def waits(rate_rps: float, cost_ns: float, requests: int = REQUESTS) -> np.ndarray:
    """Waits in a queue with Poisson arrivals and a fixed service time, ns (Lindley)."""
    draw = np.random.default_rng(5)
    steps = cost_ns - draw.exponential(1e9 / rate_rps, requests)
    sums = np.concatenate([[0.0], np.cumsum(steps)])
    return sums - np.minimum.accumulate(sums)


@pytest.mark.parametrize("cost_ns", [2_000, 4_900, 12_000, 49_000, 51_000, 200_000, 10_000_000])
def test_a_client_at_its_highest_rate_is_timely_and_no_more_than_that(cost_ns: float) -> None:
    rate = rate_max(cost_ns)
    busy = rate * cost_ns / 1e9
    assert busy <= CPU_SHARE_MAX * (1 + 1e-9)
    late = float((waits(rate, cost_ns) > TIMELY_NS).mean())
    # Requests of one busy time are late together: of 25,000 late ones some thousand tell.
    assert late <= LATE_SHARE_MAX * 1.1
    assert late >= LATE_SHARE_MAX * 0.9 or busy >= CPU_SHARE_MAX * (1 - 1e-9)


@pytest.mark.parametrize("busy", [0.1, 0.4, 0.79])
@pytest.mark.parametrize("limit", [0.01, 0.99, 1.0, 3.7, 10.0])
def test_the_share_of_late_requests_is_that_of_a_simulated_queue(busy: float, limit: float) -> None:
    cost_ns = 10_000
    every = waits(busy / cost_ns * 1e9, cost_ns) > limit * cost_ns
    blocks = every[: REQUESTS // 100 * 100].reshape(100, -1).mean(axis=1)
    sigma = float(blocks.std(ddof=1)) / 10 + 1e-6
    assert late_share(busy, cost_ns, limit * cost_ns) == pytest.approx(every.mean(), abs=6 * sigma)


def test_beyond_the_exact_formula_the_bound_is_no_lower_and_near() -> None:
    cost_ns = 10_000.0
    for busy in (0.3, 0.6, CPU_SHARE_MAX):
        exact = need._erlang(busy, need.EXACT_MAX)
        bound = need._kingman(busy, need.EXACT_MAX)
        assert exact <= bound <= 3 * exact
        above = late_share(busy, cost_ns, (need.EXACT_MAX + 1e-6) * cost_ns)
        assert above == pytest.approx(bound, rel=1e-3)


def test_a_dearer_request_leaves_a_lower_rate_and_no_jump() -> None:
    costs = np.geomspace(500, 1e9, 400)
    rates = [rate_max(float(cost)) for cost in costs]
    assert all(after < before for before, after in pairwise(rates))
    busy = [rate * cost / 1e9 for rate, cost in zip(rates, costs, strict=True)]
    assert all(after <= before + 1e-9 for before, after in pairwise(busy))
    assert rate_max(1_000) == pytest.approx(CPU_SHARE_MAX * 1e6)
    assert busy[-1] == pytest.approx(LATE_SHARE_MAX, rel=1e-3), "who comes while it works is late"


def test_who_may_be_later_carries_more() -> None:
    assert rate_max(60_000, 500_000) > 5 * rate_max(60_000)
