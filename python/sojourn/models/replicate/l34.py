"""L22, L30, L33, L34: what load to plan beside neighbours, and what that saves (Table 3)."""

from __future__ import annotations

from sojourn.models.colocation import L28, L33
from sojourn.models.provision import provision
from sojourn.models.replicate.kind import Experiment, Parameter, Replica, arithmetic
from sojourn.models.simulator import Simulator
from sojourn.models.tco import Costs, shared_gain

SERVERS = 12_000


def run(_simulator: Simulator, _share: float) -> Replica:
    """Compute from the paper's tables; nothing is simulated."""
    costs = Costs()
    google = provision(L33, bound_ns=500e3, loss_max=0.10)
    load = google.load or 0.0
    saved = round(SERVERS * L33.core_share * load)
    gained = shared_gain(costs, L33.core_share, load)
    loose, tight = provision(L28, bound_ns=1e6), provision(L28, bound_ns=500e3)
    fails = next((limit for limit in tight.limits if limit.fails_at is not None), None)
    return Replica(
        id="L34",
        title="Interference-aware provisioning and the Google scenario (Tables 2 and 3)",
        label="computed",
        parameters=(
            Parameter(name="bounds", value="p95 ≤ 500 µs, neighbour's loss ≤ 10 %", source="L34"),
            Parameter(name="cluster", value="12,000 servers, half their cores", source="L34"),
        ),
        checks=(
            arithmetic(
                what="highest load to provision",
                paper="60 %",
                ours=f"{load:.0%}",
                is_right=load == 0.6,
            ),
            arithmetic(
                what="servers saved", paper="3,600", ours=f"{saved:,}", is_right=saved == 3600
            ),
            arithmetic(
                what="TCO gain",
                paper="17 %",
                ours=f"{gained:.2%}",
                is_right=round(gained, 2) == 0.17,
            ),
            arithmetic(
                what="servers of a cluster that matches the free memory (60 %)",
                paper="7,200",
                ours=f"{round(SERVERS * 0.6):,}",
                is_right=round(SERVERS * 0.6) == 7200,
            ),
            arithmetic(
                what="Table 2: QoS of 1 ms allows any printed tail at any load (L30)",
                paper="any load",
                ours=f"up to {loose.load or 0:.0%}",
                is_right=loose.load == 0.9,
            ),
            arithmetic(
                what="Table 2: QoS of 0.5 ms forbids lbm at 90 % (L30)",
                paper="lbm at 90 %",
                ours=f"{fails.neighbour} at {fails.fails_at:.0%}" if fails else "nobody",
                is_right=fails is not None and (fails.neighbour, fails.fails_at) == ("lbm", 0.9),
            ),
        ),
        notes=(
            (
                "Both tables and both rules are the paper's own: this shows that the commands "
                "follow them, and nothing about servers."
            ),
        ),
    )


EXPERIMENT = Experiment(
    ids=("L34", "L22", "L30", "L33"),
    title="provisioning and Table 3",
    label="computed",
    seconds=0,
    run=run,
)
