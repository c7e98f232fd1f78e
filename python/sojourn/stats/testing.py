"""Queues simulated with fixed seeds, for tests."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from sojourn.stats.times import Floats


def mg1(rng: Generator, rho: float, n: int, *, service: Floats | None = None) -> Floats:
    """Sojourn times of n customers of M/G/1 with mean service 1, from an empty queue.

    Lindley's recursion, by sums: the wait is the walk less its lowest point so far.
    """
    serve = rng.exponential(1.0, n) if service is None else service
    walk = np.concatenate([[0.0], np.cumsum(serve[:-1] - rng.exponential(1 / rho, n - 1))])
    wait: Floats = walk - np.minimum.accumulate(walk)
    return np.asarray(wait + serve, float)


def mmn(rng: Generator, servers: int, rho: float, n: int) -> Floats:
    """Sojourn times of n customers of M/M/n with mean service 1; one by one."""
    arrive = np.cumsum(rng.exponential(1 / (rho * servers), n))
    serve = rng.exponential(1.0, n)
    free = [0.0] * servers
    out = np.empty(n)
    for i in range(n):
        first = min(range(servers), key=free.__getitem__)
        free[first] = max(free[first], arrive[i]) + serve[i]
        out[i] = free[first] - arrive[i]
    return out
