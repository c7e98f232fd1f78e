"""A world in which every neighbour's effect on every service is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sojourn.foresight import study
from sojourn.foresight.doses import NONE, Dose, dose_of
from sojourn.foresight.victims import Run, Victim

PLACE = {"machine": "vm", "CPU": "made up", "CPUs": "2", "memory": "8GiB", "shield": "none"}
#: CPU time that a full dose takes, beside what else it takes.
TAKES = {"cpu": 0.5, "llc": 0.4, "membw": 0.4, "syscalls": 0.3, "network": 0.35, "disk": 0.25}


@dataclass(frozen=True, slots=True)
class Truth:
    """A service: its own time, and by how much a full dose slows it."""

    label: str
    service_us: float
    slowed: Mapping[str, float]

    def peak_rps(self) -> float:
        """What it can serve alone."""
        return 1e6 / self.service_us

    def tail_ns(self, rps: float, doses: Mapping[str, float]) -> float:
        """As of a slower M/M/1 with less of its CPU; infinite without a steady state."""
        slow = 1 + sum(self.slowed.get(name, 0.0) * share for name, share in doses.items())
        left = 1 - min(0.6, sum(TAKES[name] * share for name, share in doses.items()))
        service_us = self.service_us * slow / left
        use = rps * service_us / 1e6
        return math.inf if use >= 1 else math.log(100) * service_us * 1e3 / (1 - use)

    def border_rps(self, bound_ns: float, doses: Mapping[str, float]) -> float:
        """The highest load within a bound; 0 if none is."""
        lo, hi = 0.0, self.peak_rps()
        for _ in range(60):
            middle = (lo + hi) / 2
            lo, hi = (middle, hi) if self.tail_ns(middle, doses) <= bound_ns else (lo, middle)
        return lo


def service(label: str, rng: np.random.Generator) -> Truth:
    """A service drawn at random from a generator."""
    slowed = {name: float(rng.exponential(0.3)) for name in TAKES}
    return Truth(label, float(rng.uniform(10, 60)), slowed)


def victim(
    truth: Truth,
    neighbours: Mapping[str, Mapping[str, float]],
    rng: np.random.Generator,
    scatter: float = 0.1,
) -> Victim:
    """What a record would say of it: alone, beside doses, beside neighbours."""
    every: dict[str, Mapping[str, float]] = {NONE: {}}
    for level in study.DOSES:
        dose = dose_of(level) or Dose("", 0.0)
        every[level] = {dose.resource: dose.share}
    every |= neighbours
    peak = truth.peak_rps()
    levels = {
        level: [_run(truth, peak * share, doses, rng, scatter) for share in study.FRACTIONS]
        for level, doses in every.items()
    }
    return Victim(
        label=truth.label, record=f"made-{truth.label}", place=PLACE, peak_rps=peak, levels=levels
    )


def _run(
    truth: Truth, rps: float, doses: Mapping[str, float], rng: np.random.Generator, scatter: float
) -> Run:
    tail = truth.tail_ns(rps, doses) * math.exp(scatter * rng.standard_normal())
    taken = sum(TAKES[name] * share for name, share in doses.items())
    cpu = min(1.0, rps * truth.service_us / 1e6)
    progress = None if not doses else max(0.2, 1 - cpu)
    return Run(
        rps=rps,
        achieved_rps=rps,
        tails={0.5: tail / 7, 0.95: tail / 1.5, 0.99: tail},
        progress=progress,
        cpu_ns=truth.service_us * 1e3,
        cpu=cpu,
        others=min(taken, 1 - cpu) if doses else 0.0,
    )
