"""Where the borders of the bench's queues lie, found anew; prints them beside the table's.

Usage: .venv/bin/python bench/search/truth.py [--seconds 100] [--runs 8]

Long runs with the same random numbers at every load, so that the share of misses is a smooth
function of it; where stalls decide, the stalls that were drawn are a control variate: the share
that theory gives for them is known, and the ratio of both hardly varies.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np

from sojourn.analysis.queue import QUEUES, Queue


def share(queue: Queue, rho: float, seconds: float, runs: int) -> float:
    """Share of requests above the bound at a utilisation."""
    over = count = 0
    for run in range(runs):
        rng = np.random.default_rng([7, run])
        _, sojourn = queue.run(rho * queue.rate_rps, seconds, rng)
        over += int((sojourn > queue.bound_s).sum())
        count += len(sojourn)
    return over / count


def bisected(queue: Queue, seconds: float, runs: int) -> float:
    """The utilisation at which 1 % misses."""
    low, high = 0.1, 1.05
    for _ in range(10):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if share(queue, middle, seconds, runs) > 0.01 else (middle, high)
    return math.sqrt(low * high)


def of_stalls(queue: Queue, seconds: float, runs: int) -> float:
    """The same by f / (1 − ρ), corrected by what a simulation adds to it for the same stalls."""
    assert queue.stalls  # noqa: S101  # asked only then
    each_s, shortest, longest = queue.stalls
    lengths = np.linspace(shortest, longest, 100_001)
    f = each_s * float(np.maximum(lengths - queue.bound_s, 0).mean())
    rho = 1 - f / 0.01
    seen = expected = 0.0
    for run in range(runs):
        rng = np.random.default_rng([7, run])
        at, sojourn = queue.run(rho * queue.rate_rps, seconds, rng)
        seen += float((sojourn > queue.bound_s).sum())
        again = np.random.default_rng([7, run])
        again.random(again.poisson(rho * queue.rate_rps * seconds))
        drawn = queue._slower(2 * seconds + 50, again)  # noqa: SLF001  # the very same stalls
        excess = sum(
            max(0.0, end - begin - queue.bound_s) for begin, end, _ in drawn if end < seconds
        )
        expected += rho * queue.rate_rps * excess / (1 - rho)
        assert len(at)  # noqa: S101  # a run without requests says nothing
    return 1 - f * seen / expected / 0.01


def main() -> int:
    """Print every border."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=100.0, help="of one run (100)")
    parser.add_argument("--runs", type=int, default=8, help="at every load (8)")
    asked = parser.parse_args()
    for queue in QUEUES:
        find = of_stalls if queue.stalls else bisected
        border = find(queue, asked.seconds, asked.runs)
        print(f"{queue.name:6} table {queue.border:.3f} found {border:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
