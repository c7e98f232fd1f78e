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


Turns = tuple[Floats, Floats]  # of the clock, and the CPU time that is left to the server by then


def taken(
    rng: Generator, on_s: float, off_s: float, length_s: float, *, is_regular: bool = False
) -> Turns:
    """A neighbour that takes the server's CPU for a while, again and again, from a point by lot.

    Args:
        rng: draws lengths.
        on_s: mean time for which it takes it.
        off_s: mean time for which it does not.
        length_s: of the load; the turns go on for ten times as long, for work that is left then.
        is_regular: the times are constant; else exponential.
    """
    count = int(20 * length_s / (on_s + off_s)) + 20
    means = np.tile([off_s, on_s], count)
    lengths = means if is_regular else rng.exponential(means)
    clock_s = np.cumsum(lengths) - lengths[0] - rng.uniform(0, on_s + off_s)
    rate = np.tile([1.0, 1e-9], count)  # of the server's work
    left_s = np.concatenate([[0.0], np.cumsum(np.diff(clock_s) * rate[1:])])
    return clock_s, left_s - float(np.interp(0.0, clock_s, left_s))


def queued(due_s: Floats, work_s: Floats, turns: Turns | None = None) -> Floats:
    """Sojourn times of requests, first come, first served, on a CPU that a neighbour may take, s.

    Lindley's recursion on the CPU time that is left to the server.
    """
    clock_s, left_s = turns or (due_s, due_s)
    at_s = np.interp(due_s, clock_s, left_s) if turns else due_s
    work_s = np.cumsum(work_s)
    done_s = work_s + np.maximum.accumulate(at_s - np.concatenate([[0.0], work_s[:-1]]))
    end_s = np.interp(done_s, left_s, clock_s) if turns else done_s
    return np.asarray(end_s - due_s)


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
