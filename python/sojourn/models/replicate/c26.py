"""C26: a request that fans out to five is in time only if all five are."""

from __future__ import annotations

from sojourn.models.replicate.kind import Curve, Experiment, Parameter, Replica, arithmetic
from sojourn.models.simulator import Simulator

FANOUTS = (1, 2, 5, 10, 20, 50, 100)


def run(simulator: Simulator, share: float) -> Replica:
    """Fan out over a simulated fleet and look up what each part's p99 is worth."""
    base = {"servers": 500, "load_by_hour": [0.7], "roots": int(40_000 * share) + 1000}
    jobs = [
        {**base, "tree": [{"name": "leaf", "fanout": fanout, "scale": 1.0}]} for fanout in FANOUTS
    ]
    results = simulator.runs("fleet", jobs)
    p50 = tuple(result["root_ns"]["p50"] / 1e3 for result in results)
    p95 = tuple(result["root_ns"]["p95"] / 1e3 for result in results)
    part_p99 = results[0]["server_ns"]["p99"] / 1e3
    five = p95[FANOUTS.index(5)]
    return Replica(
        id="C26",
        title="Fan-out: the tail of the parts becomes the middle of the whole",
        label="simulated",
        parameters=(Parameter(name="fleet", value="500 servers of 12 cores at 70 %", source="-"),),
        curves=tuple(
            Curve(name=name, x_label="fan-out", y_label="µs", x=tuple(map(float, FANOUTS)), y=y)
            for name, y in (("p50", p50), ("p95", p95))
        ),
        checks=(
            arithmetic(
                what="five parts, each in time with 0.99",
                paper="0.99^5 = 0.95",
                ours=f"{0.99**5:.3f}",
                is_right=round(0.99**5, 2) == 0.95,
            ),
            arithmetic(
                what="so the p95 of five is about the p99 of one",
                paper="-",
                ours=f"{five:.1f} µs against {part_p99:.1f} µs",
                is_right=abs(five / part_p99 - 1) < 0.03,
            ),
        ),
    )


EXPERIMENT = Experiment(ids=("C26",), title="fan-out", label="simulated", seconds=20, run=run)
