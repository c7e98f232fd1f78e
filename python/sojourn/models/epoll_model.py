"""Simulated times of an event loop per worker, for any costs, at any load.

sojourn = outside + epoll queue(service: gamma(mean, cv), set-up when idle)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.models.calibration import Costs, Setup
from sojourn.models.points import QUANTITIES, Measured, shape_of
from sojourn.models.simulator import Simulator

STABLE = 0.995


class EpollModel:
    """Simulated times at a load, for any costs; outside is what the lowest load leaves over."""

    def __init__(self, simulator: Simulator, setup: Setup, lowest: Measured) -> None:
        self.setup = setup
        self._simulator = simulator
        self._lowest = lowest

    def times(self, points: Sequence[Measured], costs: Costs) -> list[dict[str, float] | None]:
        """Times by quantity, ns, at every point; None where the model has no steady state."""
        lowest = self._lowest.rate_rps
        # A worker has a connection more than another where they do not divide evenly.
        connections = self.setup.connections
        even = connections / math.ceil(connections / self.setup.workers)
        most = even / costs.service_us * 1e6 * STABLE
        # The lowest load is a point as well: what has one rate is simulated once.
        asked = dict.fromkeys([lowest, *(point.rate_rps for point in points)])
        rates = [rate for rate in asked if rate < most]
        results = self._simulator.runs("queue", [self._job(rate, costs) for rate in rates])
        shapes = (shape_of(result["sojourn_ns"]["hdr"]) for result in results)
        queues = dict(zip(rates, shapes, strict=True))
        if lowest not in queues:
            return [None] * len(points)
        outside = self._outside(queues[lowest])
        sums = {rate: _sum(outside, queue) for rate, queue in queues.items()}
        return [sums.get(point.rate_rps) for point in points]

    def _job(self, rate: float, costs: Costs) -> dict[str, Any]:
        return {
            "rate": repr(rate),
            "unit": "us",
            "servers": self.setup.workers,
            "service": f"gamma:{costs.service_us:.6f},{max(costs.cv, 0.02):.4f}",
            "requests": str(self.setup.requests),
            "discipline": f"epoll:{self.setup.connections},0us,{costs.setup_us:.4f}us",
        }

    def _outside(self, queue: NDArray[np.float64]) -> NDArray[np.float64]:
        """The lowest load's times less the median of what the model says of it."""
        typical = float(np.median(queue))
        if self._lowest.shape:
            return np.maximum(np.array(self._lowest.shape) - typical, 0.0)
        known = self._lowest.p50 or self._lowest.mean or typical
        return np.array([max(known - typical, 0.0)])


def _sum(outside: NDArray[np.float64], queue: NDArray[np.float64]) -> dict[str, float]:
    """Quantiles of the sum of two independent times."""
    both = np.add.outer(outside, queue).ravel()
    result = np.quantile(both, (0.5, 0.95, 0.99))
    times = [float(both.mean()), *(float(value) for value in result)]
    return dict(zip(QUANTITIES, times, strict=True))
