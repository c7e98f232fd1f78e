"""L19: two latency-critical services on one core under CFS, every pair of loads (Fig. 6)."""

from __future__ import annotations

import math

from sojourn.models.colocation import L28
from sojourn.models.replicate.kind import Check, Experiment, Replica
from sojourn.models.replicate.pairs import (
    BOTH,
    ONLY_A,
    PARAMETERS,
    Setting,
    matrices,
    pair,
    where,
)
from sojourn.models.replicate.paper import KERNEL, LATENCY, TEXT, TEXT_TUNING
from sojourn.models.simulator import Simulator

SETTINGS = [
    Setting("CFS", "cfs", tuning=TEXT_TUNING),
    Setting("CFS, fixed service times", "cfs", "fixed", tuning=TEXT_TUNING),
    Setting("CFS, rules of the kernel", "cfs"),
]
FAILS = 0.9  # a cell or two may pass, as in the figure
A_HOLDS = (BOTH, ONLY_A)


def run(simulator: Simulator, share: float) -> Replica:
    """Fill the matrix under CFS and look on which side of the diagonal A holds."""
    result = matrices(simulator, SETTINGS, share)
    checks: list[Check] = []
    for matrix in result:
        # On the diagonal and above 80 % together either side may fail for lack of capacity.
        lower = where(matrix, lambda a, b: a < b and a + b <= 0.8)
        higher = where(matrix, lambda a, b: a > b and a + b <= 0.8)
        holds_low = sum(cell in A_HOLDS for cell in lower)
        fails_high = sum(cell not in A_HOLDS for cell in higher)
        checks += [
            Check(
                what=f"{matrix.name}: A holds its QoS while its load is below B's (sum ≤ 80 %)",
                paper="holds",
                ours=f"{holds_low} of {len(lower)} cells",
                tolerance="all cells",
                holds=holds_low == len(lower),
            ),
            Check(
                what=f"{matrix.name}: A fails where its load is above B's, even at low B",
                paper="fails",
                ours=f"{fails_high} of {len(higher)} cells",
                tolerance=f"{FAILS:.0%} of the cells or more",
                holds=fails_high >= FAILS * len(higher),
            ),
        ]
    return Replica(
        id="L19",
        title="Two latency-critical services on one core under CFS (Fig. 6)",
        label="simulated",
        parameters=(*PARAMETERS, LATENCY, TEXT, KERNEL),
        matrices=tuple(result),
        checks=(*checks, _split()),
    )


def _split() -> Check:
    """Table 2 was not used to split A's latency, so it can judge the split: M/M/1 + outside."""
    costs = pair("exponential")
    paper = {
        load: row.tail_ns / 1e3
        for load in L28.loads
        if (row := L28.at("none", load)) and row.tail_ns
    }
    ours = {load: costs.outside_us + math.log(20) * costs.a_us / (1 - load) for load in paper}
    return Check(
        what=f"memcached alone: {costs.a_us:.1f} µs on the core and {costs.outside_us:.1f} µs "
        "outside give its p95 at 10 to 90 % load (Table 2, not used before)",
        tolerance="each -10 to +10 %",
        paper="/".join(f"{value:.0f}" for value in paper.values()) + " µs",
        ours="/".join(f"{value:.0f}" for value in ours.values()) + " µs",
        holds=all(abs(ours[load] / paper[load] - 1) < 0.1 for load in paper),
    )


EXPERIMENT = Experiment(
    ids=("L19",), title="two services under CFS", label="simulated", seconds=60, run=run
)
