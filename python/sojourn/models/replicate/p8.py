"""P8, L19, M20: what load an ideal M/M/1 may carry under the papers' two relative QoS rules."""

from __future__ import annotations

import math

import scipy

from sojourn.models.replicate.kind import Curve, Experiment, Parameter, Replica, arithmetic
from sojourn.models.simulator import Simulator
from sojourn.stats.queueing import mmn_quantile

SERVERS = (1, 2, 4, 8, 12)


def run(_simulator: Simulator, _share: float) -> Replica:
    """Compute both limits from the closed form of M/M/n."""
    lqos = tuple(_limit(n, 5.0) for n in SERVERS)
    relative = tuple(_limit(n, 5 * mmn_quantile(0.95, n, 0.1, 1.0)) for n in SERVERS)
    by_hand = 1 - math.log(20) / 5
    return Replica(
        id="P8",
        title="Load that an ideal queue may carry: LQoS = 5 × service, and 5 × p95 at low load",
        label="computed",
        parameters=(Parameter(name="service", value="exponential", source="L5"),),
        curves=tuple(
            Curve(name=name, x_label="servers", y_label="load", y=y, x=tuple(map(float, SERVERS)))
            for name, y in (
                ("p95 < 5 × mean service time (P8)", lqos),
                ("p95 ≤ 5 × p95 at 10 % (L19)", relative),
            )
        ),
        checks=(
            arithmetic(
                what="M/M/1, LQoS: 1 − ln 20 / 5",
                paper="0.401 (M20)",
                ours=f"{lqos[0]:.3f}",
                is_right=abs(lqos[0] - by_hand) < 1e-6,
            ),
            arithmetic(
                what="M/M/1, 5 × p95 at 10 %: 1 − 0.9 / 5",
                paper="0.82 (M20)",
                ours=f"{relative[0]:.3f}",
                is_right=abs(relative[0] - 0.82) < 1e-6,
            ),
        ),
    )


def _limit(servers: int, bound: float) -> float:
    def excess(rho: float) -> float:
        return mmn_quantile(0.95, servers, rho, 1.0) - bound

    return float(scipy.optimize.brentq(excess, 1e-6, 1 - 1e-6))


EXPERIMENT = Experiment(
    ids=("P8",), title="ideal limits of LQoS", label="computed", seconds=0, run=run
)
