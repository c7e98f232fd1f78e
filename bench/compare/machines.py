"""Machines that are simulated for comparisons: queues on hosts that are noisy in several ways.

A run is a start of the service and N_REQUESTS requests, first come, first served. A block is a run
of each side in random order. What a machine does to a block is drawn for both sides alike, so that
two equal sides differ by chance only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
N_REQUESTS = 3000
MEAN_S = 100e-6
RHO = 0.6
NUMBERS = ("mean", "p50", "p99", "cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """How noisy a host is.

    Attributes:
        starts: standard deviation of the logarithm of a start's service time.
        slow_share, slow: share of starts in the second mode, and its factor.
        stalls, stall_s: stops of the server a run, mean; their mean length, heavy tailed.
        walk: step of the machine's speed from block to block, logarithm.
        within: by how much the later run of a block is slower, logarithm.
        bursts: share of a run in which a neighbour takes half of the CPU, in stretches.
        cpu_noise: standard deviation of the logarithm of CPU time a request.
    """

    name: str
    starts: float = 0.02
    slow_share: float = 0.0
    slow: float = 1.0
    stalls: float = 0.0
    stall_s: float = 0.002
    walk: float = 0.0
    within: float = 0.0
    bursts: float = 0.0
    cpu_noise: float = 0.02


MACHINES = (
    Machine(name="starts differ", starts=0.06),
    Machine(name="stalls", stalls=1.0),
    Machine(name="drift", walk=0.03, within=0.03),
    Machine(name="two modes", slow_share=0.3, slow=1.25),
    Machine(name="clustered misses", bursts=0.08),
)


def blocks(rng: Generator, machine: Machine, count: int, change: float) -> dict[str, Floats]:
    """Numbers of one comparison: by name, blocks × (first, second); the second `change` slower."""
    speed = np.cumsum(rng.normal(0, machine.walk, count)) if machine.walk else np.zeros(count)
    values = {name: np.empty((count, 2)) for name in NUMBERS}
    for block in range(count):
        order = rng.permutation(2)
        for turn, side in enumerate(order):
            slower = speed[block] + machine.within * turn
            factor = np.exp(slower) * (1 + change * side)
            for name, value in run(rng, machine, float(factor)).items():
                values[name][block, side] = value
    return values


def run(rng: Generator, machine: Machine, factor: float) -> dict[str, float]:
    """One start of the service under the same offered load."""
    start = factor * np.exp(rng.normal(0, machine.starts))
    if rng.random() < machine.slow_share:
        start *= machine.slow
    work = rng.exponential(MEAN_S * start, N_REQUESTS)
    gaps = rng.exponential(MEAN_S / RHO, N_REQUESTS)
    cpu = work.mean() * np.exp(rng.normal(0, machine.cpu_noise))
    if machine.bursts:
        work = work * _burst(rng, machine.bursts)
    if machine.stalls:
        hit = rng.integers(0, N_REQUESTS, rng.poisson(machine.stalls))
        np.add.at(work, hit, machine.stall_s * rng.pareto(1.8, len(hit)))
    walk = np.concatenate([[0.0], np.cumsum(work[:-1] - gaps[1:])])
    sojourn = walk - np.minimum.accumulate(walk) + work
    p50, p99 = np.quantile(sojourn, [0.5, 0.99])
    return {"mean": sojourn.mean(), "p50": p50, "p99": p99, "cpu": cpu}


def _burst(rng: Generator, share: float) -> Floats:
    """Twice the work in a few stretches of the run, of random length and place."""
    factor = np.ones(N_REQUESTS)
    for _ in range(rng.poisson(4)):
        length = int(rng.exponential(share * N_REQUESTS / 4))
        at = rng.integers(0, N_REQUESTS)
        factor[at : at + length] = 2.0
    return factor
