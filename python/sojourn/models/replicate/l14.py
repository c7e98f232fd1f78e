"""L14: interference in the L3 cache moves the asymptote; at 30 % load nobody sees it."""

from __future__ import annotations

from sojourn.models.replicate.kind import Check, Curve, Experiment, Mark, Parameter, Replica
from sojourn.models.replicate.l12 import INTERFERED_US, LOADED_US
from sojourn.models.replicate.paper import CORES, MEMCACHED, SERVICE_US
from sojourn.models.simulator import Simulator

LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.74, 0.8, 0.9, 0.95)
SLOWDOWN = INTERFERED_US / LOADED_US


def run(simulator: Simulator, share: float) -> Replica:
    """Simulate 12 workers with placed connections, with and without the slow-down."""
    alone = _sweep(simulator, 1.0, LOADS, share)
    stable = tuple(load for load in LOADS if load * SLOWDOWN < 1)
    beside = _sweep(simulator, SLOWDOWN, stable, share)
    at_30 = LOADS.index(0.3)
    service_only = SLOWDOWN - 1
    growth = beside[at_30] / alone[at_30] - 1
    added_us = beside[at_30] - alone[at_30]
    return Replica(
        id="L14",
        title="Heavy L3 interference: p95 by load (Fig. 2)",
        label="simulated",
        parameters=(
            MEMCACHED,
            Parameter(name="slow-down", value=f"{INTERFERED_US}/{LOADED_US} = {SLOWDOWN:.2f}",
                      source="L12, columns Loaded and L3 int, work stages only"),
            Parameter(name="connections", value="placed, 1200 on 12 workers", source="L16, M4"),
        ),
        curves=(
            Curve(name="alone", x_label="load", y_label="p95 µs", x=LOADS, y=tuple(alone)),
            Curve(name="L3 interference", x_label="load", y_label="p95 µs", x=stable,
                  y=tuple(beside)),
        ),
        marks=(Mark(x=0.3, text="hardly any effect"),),
        checks=(
            Check(
                what="the asymptote moves to a lower load",
                paper="visibly (no number)",
                ours=f"from 100 % to {1 / SLOWDOWN:.0%} of peak",
                holds=1 / SLOWDOWN < 1,
            ),
            Check(
                what="at 30 % of peak the interference is hardly measurable",
                paper="quite similar",
                ours=f"p95 +{added_us:.0f} µs ({growth:+.0%}; service {service_only:+.0%})",
                holds=added_us < 50,
            ),
        ),
        notes=(("50 µs is the paper's unloaded end-to-end time (L12): what is less than that "
               "drowns in it."),),
    )  # fmt: skip


def _sweep(sim: Simulator, slow: float, loads: tuple[float, ...], share: float) -> list[float]:
    job = {"service": f"exponential:{SERVICE_US * slow}", "unit": "us", "servers": CORES,
           "discipline": f"placed:{100 * CORES}", "requests": str(int(2e6 * share))}  # fmt: skip
    jobs = [{**job, "rate": str(load * CORES / SERVICE_US * 1e6)} for load in loads]
    return [result["sojourn_ns"]["p95"] / 1e3 for result in sim.runs("queue", jobs)]


EXPERIMENT = Experiment(
    ids=("L14",), title="L3 interference by load", label="simulated", seconds=20, run=run
)
