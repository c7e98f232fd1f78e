"""L5: the asymptote of M/M/1, and how far the simulator is from all closed forms it knows.

Everything else on the page rests on the simulator, so it is held against M/M/1, M/D/1 and M/M/4
here: every mean and quantile that has a formula, at every load, within the run's own interval. And
the intervals themselves: over 50 seeds of M/M/1 they cover mean and quantiles, p99.9 included, as
often as they say, and not by being too wide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.models.coverage import NUMBERS, accepted, covered, width_slack
from sojourn.models.replicate.kind import Check, Curve, Experiment, Parameter, Replica, within
from sojourn.models.simulator import Result, Simulator

LOADS = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
BIN = 1e-3  # three digits of the histogram
INTERVALS = 2.0  # half-widths; of many 95 % intervals one in twenty misses by more than one
SHARE_WITHIN = 0.85  # of those within one half-width, at least; 95 % are expected


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue with known formulas."""

    name: str
    service: str
    servers: int


SEEDS = 50
# Load and requests of each seed: 16 M at .9 and more are in bench/sim/coverage.py.
COVERED = ((0.5, 1e6), (0.8, 4e6))

QUEUES = (
    Queue("M/M/1", "exponential:1", 1),
    Queue("M/D/1", "fixed:1", 1),
    Queue("M/M/4", "exponential:1", 4),
)


def run(simulator: Simulator, share: float) -> Replica:
    """Simulate each queue at every load and hold it against its formulas."""
    # At a load of .95 sections of fewer requests are not independent.
    requests = str(int(4e6 * max(1.0, share)))
    jobs = [
        {
            "rate": repr(rho * queue.servers),
            "service": queue.service,
            "servers": queue.servers,
            "requests": requests,
        }
        for queue in QUEUES
        for rho in LOADS
    ]
    results = simulator.runs("queue", jobs)
    parts = {
        queue: results[at * len(LOADS) : (at + 1) * len(LOADS)] for at, queue in enumerate(QUEUES)
    }
    mm1 = parts[QUEUES[0]]
    ratios = [r["sojourn_ns"]["p95"] / r["sojourn_ns"]["mean"] for r in mm1]
    known = tuple(math.log(20) / (1 - rho) for rho in LOADS)
    return Replica(
        id="L5",
        title="The asymptote, and the simulator against closed forms",
        label="simulated",
        parameters=(
            Parameter(name="service", value="mean 1", source="L5"),
            Parameter(name="requests", value=f"{int(requests):,} per load", source="-"),
        ),
        curves=(
            *(_curve(f"{queue.name} simulated", _p95(part)) for queue, part in parts.items()),
            _curve("M/M/1: ln 20 / (μ − λ)", known),
        ),
        checks=(
            within(
                max(ratios, key=lambda ratio: abs(ratio - 3)),
                2.85,
                3.15,
                what="M/M/1: p95 is about 3 times the mean",
                paper="3×",
                ours=f"{min(ratios):.2f} to {max(ratios):.2f}×",
            ),
            *(_agreement(queue, part) for queue, part in parts.items()),
            *(
                _coverage(rho, _seeds(simulator, rho, requests))
                for rho, requests in COVERED[: 2 if share >= 1 else 1]
            ),
        ),
    )


def _seeds(simulator: Simulator, rho: float, requests: float) -> Sequence[Result]:
    """M/M/1 at one load, once with each seed."""
    queue = {"rate": repr(rho), "service": "exponential:1", "servers": 1}
    jobs = [{**queue, "requests": str(int(requests)), "seed": s} for s in range(1, SEEDS + 1)]
    return simulator.runs("queue", jobs)


def _coverage(rho: float, results: Sequence[Result]) -> Check:
    """Do the intervals of mean, quantiles and p99.9 cover, and are they no wider than they must?"""
    rows = [covered(number, results) for number in NUMBERS]
    verdicts = {row.verdict for row in rows}
    low, high = accepted(SEEDS)
    slack = width_slack(SEEDS)
    return Check(
        what=f"M/M/1 at a load of {rho:g}: over {SEEDS} seeds 95 % intervals of mean and quantiles "
        "up to p99.9 cover the closed form",
        paper="95 %",
        ours=", ".join(f"{row.number} {row.hits} of {row.known}" for row in rows)
        + f"; widths {min(r.width for r in rows):.2f} to {max(r.width for r in rows):.2f}",
        tolerance=f"{low} to {high} of {SEEDS}, and half-widths {1 - slack:.2f} to {1 + slack:.2f} "
        "of what the scatter asks for",
        holds=None if "unknown" in verdicts else verdicts == {"holds"},
    )


def _agreement(queue: Queue, part: Sequence[Result]) -> Check:
    """Every formula against the run's own 95 % interval."""
    agreed = [a for result in part for a in result["agreement"]]
    misses = [abs(a["closed"] - a["interval"]["mid"]) / _half(a) for a in agreed]
    far, inside = max(misses), sum(miss <= 1 for miss in misses)
    off = max(abs(a["error"]) for a in agreed if not a["quantity"].startswith("p999"))
    return Check(
        what=f"{queue.name}: mean and quantiles at loads of {LOADS[0]:g} to {LOADS[-1]:g} are the "
        "closed form's, within the run's 95 % interval",
        paper="closed form",
        ours=f"{inside} of {len(agreed)} within; the farthest {far:.2f} half-widths; "
        f"largest error up to p99 {off:.2%}",
        tolerance=f"{SHARE_WITHIN:.0%} within one half-width, all within {INTERVALS:g}",
        holds=far <= INTERVALS and inside >= SHARE_WITHIN * len(agreed),
    )


def _half(agreed: Result) -> float:
    """Half the interval; at least a bin of the histogram, where a quantile is an atom."""
    interval = agreed["interval"]
    return float(max((interval["hi"] - interval["lo"]) / 2, BIN * agreed["closed"]))


def _p95(part: Sequence[Result]) -> tuple[float, ...]:
    return tuple(r["sojourn_ns"]["p95"] / 1e9 for r in part)


def _curve(name: str, y: tuple[float, ...]) -> Curve:
    return Curve(name=name, x_label="load", y_label="p95, service times", x=LOADS, y=y)


EXPERIMENT = Experiment(
    ids=("L5",), title="closed forms by load", label="simulated", seconds=25, run=run
)
