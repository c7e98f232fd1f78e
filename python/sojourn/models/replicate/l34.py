"""L22, L30, L33, L34: what load to plan beside neighbours, and what that saves (Table 3)."""

from __future__ import annotations

from sojourn.models.colocation import L28, L33
from sojourn.models.provision import provision
from sojourn.models.replicate.kind import Check, Experiment, Parameter, Replica
from sojourn.models.simulator import Simulator
from sojourn.models.tco import Costs

SERVERS = 12_000


def run(_simulator: Simulator, _share: float) -> Replica:
    """Compute from the paper's tables; nothing is simulated."""
    costs = Costs()
    google = provision(L33, bound_ns=500e3, loss_max=0.10)
    load = google.load or 0.0
    saved = round(SERVERS * L33.core_share * load)
    apart = SERVERS * costs.server_usd(0.5) + saved * costs.server_usd(1)
    gained = apart / (SERVERS * costs.server_usd(1)) - 1
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
            Check(what="highest load to provision", paper="60 %", ours=f"{load:.0%}",
                  holds=load == 0.6),
            Check(what="servers saved", paper="3,600", ours=f"{saved:,}", holds=saved == 3600),
            Check(what="TCO gain", paper="17 %", ours=f"{gained:.2%}",
                  holds=round(gained, 2) == 0.17),
            Check(what="servers of a cluster that matches the free memory (60 %)", paper="7,200",
                  ours=f"{round(SERVERS * 0.6):,}", holds=round(SERVERS * 0.6) == 7200),
            Check(what="Table 2: QoS of 1 ms allows any neighbour at any load (L30)",
                  paper="any load", ours=f"up to {loose.load or 0:.0%}", holds=loose.load == 0.9),
            Check(what="Table 2: QoS of 0.5 ms forbids lbm at 90 % (L30)", paper="lbm at 90 %",
                  ours=f"{fails.neighbour} at {fails.fails_at:.0%}" if fails else "nobody",
                  holds=fails is not None and (fails.neighbour, fails.fails_at) == ("lbm", 0.9)),
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    ids=("L34", "L22", "L30", "L33"), title="provisioning and Table 3", label="computed",
    seconds=0, run=run,
)  # fmt: skip
