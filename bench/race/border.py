"""The border of a real server from many short runs, and how well they know it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

MISSES = 0.01
BOOTSTRAPS = 400
HALF = 0.5  # a miss, so that a run without one has a logarithm


@dataclass(frozen=True, slots=True)
class Probe:
    """One run: its round, its load, requests, how many missed, and the generator's verdict."""

    round: int
    rate: float
    requests: int
    over: int
    verdict: str = ""

    @property
    def share(self) -> float:
        """Of requests that missed; 1 without a request."""
        return self.over / self.requests if self.requests else 1.0


@dataclass(frozen=True, slots=True)
class Border:
    """The load at which 1 % misses, its interval (90 %), and what it rests on."""

    rps: float
    lo_rps: float
    hi_rps: float
    probes: int
    requests: int
    is_inside: bool


def fitted(probes: Sequence[Probe], rng: np.random.Generator) -> Border:
    """The border, and a bootstrap over rounds."""
    rounds: dict[int, list[Probe]] = {}
    for one in probes:
        rounds.setdefault(one.round, []).append(one)
    every = list(rounds.values())
    drawn = []
    for _ in range(BOOTSTRAPS):
        picked = rng.integers(len(every), size=len(every))
        drawn.append(crossing([one for at in picked for one in every[at]]))
    lo, hi = np.quantile(drawn, [0.05, 0.95])
    requests, rps = sum(one.requests for one in probes), crossing(probes)
    loads = [one.rate for one in probes]
    is_inside = min(loads) < rps < max(loads)
    return Border(rps, float(lo), float(hi), len(probes), requests, is_inside)


def crossing(probes: Sequence[Probe]) -> float:
    """Where the share of misses, pooled by load and made monotone, is 1 %.

    Between loads the logarithm of the share is on a straight line. The lowest or the highest load
    is the answer where all shares are on one side.
    """
    loads = sorted({one.rate for one in probes})
    logs, weights = [], []
    for load in loads:
        own = [one for one in probes if one.rate == load]
        requests = sum(one.requests for one in own)
        logs.append(math.log((sum(one.over for one in own) + HALF) / (requests + 2 * HALF)))
        weights.append(requests + 1.0)
    rising = scipy.optimize.isotonic_regression(logs, weights=weights).x
    aim = math.log(MISSES)
    if rising[0] >= aim:
        return loads[0]
    if rising[-1] <= aim:
        return loads[-1]
    at = int(np.searchsorted(rising, aim, side="right"))
    share = (aim - rising[at - 1]) / (rising[at] - rising[at - 1])
    return float(loads[at - 1] + share * (loads[at] - loads[at - 1]))
