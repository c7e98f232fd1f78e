"""Use of resources for the report's tests: both sides of a crossing, and as little as can be."""

from __future__ import annotations

import numpy as np

from sojourn.analysis.sample_box import box
from sojourn.findings.resource_use import LoadUse, ResourceUse, Side, Use
from sojourn.host.usage.resource import BY_NAME
from sojourn.stats.times import Floats

CAPACITY = {
    "service_cpu_share": 1.0,
    "thread_cpu_share_max": 1.0,
    "server_busy_share": 1.0,
    "machine_busy_share": 1.0,
    "resident_bytes": 2.5e10,
}


def both_sides() -> ResourceUse:
    """A service that is short of CPU; one resource with outliers, one that it never uses."""
    holds, violated = _side("holds", 36_000.0, 0.7, 0.8), _side("violated", 42_000.0, 0.8, 0.97)
    return ResourceUse(
        sentence="At the highest load within QoS (36k requests/s, 70 %) memcached uses 80 % of its"
        " CPUs. Critical at the first load that misses it (42k requests/s, 80 %): its busiest"
        " thread, 95 %.",
        critical=("busiest thread",),
        sides=(holds, violated),
        loads=tuple(
            LoadUse(
                fraction=fraction,
                offered_rps=52_000 * fraction,
                runs=3,
                uses=(("service_cpu_share", 15, 0.1, 0.2, fraction, 0.7, 0.8),),
            )
            for fraction in (0.2, 0.5)
        ),
        not_counted=(("last-level cache", "no resctrl here"),),
        late=1,
        samples=300,
        events=(("network: a counter went back", 2),),
        probe_share=(0.002, 0.004),
        is_apart=True,
    )


def one_sample() -> ResourceUse:
    """A service without a target, sampled once, idle, on a machine that tells only CPU time."""
    side = Side(
        what="highest",
        lo_rps=10.0,
        hi_rps=10.0,
        fraction=None,
        chance=None,
        runs=1,
        samples=1,
        uses=(_use("service_cpu_share", np.zeros(1)), _use("resident_bytes", np.full(1, 7e7))),
    )
    return ResourceUse(
        sentence="At the highest load (10 requests/s) nginx uses 0 % of its CPUs.",
        critical=(),
        sides=(side,),
        loads=(),
        not_counted=(),
        late=0,
        samples=1,
        events=(),
        probe_share=None,
        is_apart=False,
    )


def _side(what: str, rps: float, fraction: float, cpu: float) -> Side:
    rng = np.random.default_rng(round(rps))
    share = np.clip(rng.normal(cpu, 0.02, 60), 0, 1)
    uses = {
        "service_cpu_share": share,
        "service_user_share": 0.2 * share,
        "service_system_share": 0.8 * share,
        "thread_cpu_share_max": 0.98 * share,
        "runq_delay_share": rng.lognormal(-4, 1, 60) * cpu,
        "switches_voluntary_per_s": 9e3 * (1 - cpu) * rng.normal(1, 0.1, 60),
        "switches_involuntary_per_s": rng.normal(60, 5, 60),
        "server_busy_share": np.minimum(1, 1.02 * share),
        "server_steal_share": np.zeros(60),
        "machine_busy_share": 0.5 + 0.5 * share,
        "network_rx_bytes_per_s": 150 * rps * rng.normal(1, 0.02, 60),
        "network_tx_bytes_per_s": 350 * rps * rng.normal(1, 0.02, 60),
        "network_rx_packets_per_s": rps * rng.normal(1, 0.02, 60),
        "network_tx_packets_per_s": rps * rng.normal(1, 0.02, 60),
        "resident_bytes": np.full(60, 7.4e7),
        "major_faults_per_s": np.zeros(60),
    }
    return Side(
        what=what,
        lo_rps=rps,
        hi_rps=rps,
        fraction=fraction,
        chance=0.99 if what == "holds" else 0,
        runs=3,
        samples=60,
        uses=tuple(_use(name, values) for name, values in uses.items()),
    )


def _use(name: str, values: Floats) -> Use:
    what = BY_NAME[name]
    return Use(
        name=name,
        title=what.title,
        unit=what.unit,
        box=box(np.sort(values)),
        capacity=CAPACITY.get(name),
        is_part=what.is_part,
    )
