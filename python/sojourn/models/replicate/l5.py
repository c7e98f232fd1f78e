"""L5: mean and p95 of the M/M/1, by formula and by simulation."""

from __future__ import annotations

import math

from sojourn.models.replicate.kind import Check, Curve, Experiment, Parameter, Replica
from sojourn.models.simulator import Simulator

LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)


def run(simulator: Simulator, share: float) -> Replica:
    """Simulate M/M/1 at every load and hold it against 1/(μ − λ) and ln 20/(μ − λ)."""
    # At a load of .95 sections of fewer requests are not independent.
    requests = str(int(4e6 * max(1.0, share)))
    results = simulator.runs("queue", [{"rate": str(rho), "requests": requests} for rho in LOADS])
    agreed = [a for result in results for a in result["agreement"]]
    inside = sum(a["is_within"] for a in agreed)
    far = [abs(a["closed"] - a["interval"]["mid"]) / _half(a["interval"]) for a in agreed]
    ratios = [r["sojourn_ns"]["p95"] / r["sojourn_ns"]["mean"] for r in results]
    p95 = tuple(r["sojourn_ns"]["p95"] / 1e9 for r in results)
    known = tuple(math.log(20) / (1 - rho) for rho in LOADS)
    return Replica(
        id="L5",
        title="The asymptote: sojourn time of the M/M/1 by load",
        label="simulated",
        parameters=(Parameter(name="service", value="exponential, mean 1", source="L5"),),
        curves=(_curve("p95 simulated", p95), _curve("p95 = ln 20 / (μ − λ)", known)),
        checks=(
            Check(
                what="p95 is about 3 times the mean",
                paper="3×",
                ours=f"{min(ratios):.2f} to {max(ratios):.2f}×",
                holds=all(2.85 < ratio < 3.15 for ratio in ratios),
            ),
            Check(
                what="all closed forms lie within twice the run's 95 % interval",
                paper="-",
                ours=f"at most {max(far):.2f} half-widths off; {inside}/{len(agreed)} within one",
                holds=max(far) <= 2,
            ),
        ),
    )


def _half(interval: dict[str, float]) -> float:
    return (interval["hi"] - interval["lo"]) / 2


def _curve(name: str, y: tuple[float, ...]) -> Curve:
    return Curve(name=name, x_label="load", y_label="service times", x=LOADS, y=y)


EXPERIMENT = Experiment(ids=("L5",), title="M/M/1 by load", label="simulated", seconds=10, run=run)
