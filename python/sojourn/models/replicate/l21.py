"""L21: a network-heavy neighbour, with Flow Director and with plain RSS (section 3.4).

With Flow Director the interrupts of a flow run on the core that reads it; with RSS alone they run
on any core. One core of memcached and one of the neighbour stand for the machine: with RSS half of
the neighbour's packets interrupt memcached. Its floods, locks and mixes of sizes are not here.
"""

from __future__ import annotations

from typing import Any

from sojourn.models.replicate.c11 import SOFTIRQ_SHARE
from sojourn.models.replicate.kind import (
    Check,
    Curve,
    Experiment,
    Parameter,
    Replica,
    arithmetic,
    breaks,
    within,
)
from sojourn.models.replicate.paper import CORES, MEMCACHED, PEAK_RPS, SERVICE_US, seconds
from sojourn.models.simulator import Simulator

LOADS = (0.1, 0.3, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
QOS_US = 1000.0  # L4
LINE_BPS, FRAME_BYTES = 10e9, 1500 + 38  # Ethernet: preamble, header, checksum and gap
REPLY_BYTES, HEADERS_BYTES = 200 + 30, 120  # L9; IP, TCP, memcached's own: assumed
PACKETS_RPS = LINE_BPS / 8 / FRAME_BYTES / CORES  # per core, if the neighbour fills the line
SOFTIRQ_US = SERVICE_US * SOFTIRQ_SHARE
EARLIER = 0.9  # "a problem": the tail breaks at most at this share of the load without it
ALONE, FLOW, RSS = "alone", "beside it, Flow Director", "beside it, plain RSS"


def run(simulator: Simulator, share: float) -> Replica:
    """Sweep memcached's load alone, and with the neighbour's interrupts here or there."""
    cases = (ALONE, FLOW, RSS)
    results = simulator.runs("sched", [_job(c, load, share) for c in cases for load in LOADS])
    curves = {}
    for at, case in enumerate(cases):
        part = results[at * len(LOADS) : (at + 1) * len(LOADS)]
        p95 = [result["services"][0]["sojourn_ns"]["p95"] for result in part]
        y = tuple(None if value is None else value / 1e3 for value in p95)
        curves[case] = Curve(name=case, x_label="load", y_label="p95 µs", x=LOADS, y=y)
    return Replica(
        id="L21",
        title="A neighbour that fills the network, with and without Flow Director",
        label="simulated",
        parameters=(
            MEMCACHED,
            Parameter(
                name="neighbour",
                value=f"{PACKETS_RPS / 1e3:.0f} k packets/s per core",
                source="10 GbE full of 1,500-byte packets on 12 cores (L8)",
            ),
            Parameter(
                name="softIRQ",
                value=f"{SOFTIRQ_US:.2f} µs per packet",
                source=f"L11: {SOFTIRQ_SHARE:.1%} of a request's CPU time",
            ),
            Parameter(
                name="placement",
                value="memcached on one core, the neighbour on another",
                source="assumed, as in L33",
            ),
        ),
        curves=tuple(curves.values()),
        checks=_checks(curves),
        notes=("Not simulated of L21: client floods, many SETs (locks), mixes of request sizes.",),
    )


def _checks(curves: dict[str, Curve]) -> tuple[Check, ...]:
    used = PEAK_RPS * (REPLY_BYTES + HEADERS_BYTES) * 8 / LINE_BPS
    alone, flow, rss = (breaks(curves[case], QOS_US) for case in (ALONE, FLOW, RSS))
    return (
        arithmetic(
            what="memcached saturates the CPUs before the network",
            paper="before 10 GbE",
            ours=f"{used:.0%} of the line at peak",
            is_right=used < 1,
        ),
        arithmetic(
            what="with Flow Director it is harmless: no interrupt of it runs on memcached's core",
            paper="far less than expected",
            ours=f"p95 above 1 ms from {flow:.0%}, alone from {alone:.0%}",
            is_right=flow == alone,
        ),
        within(
            rss / alone,
            0,
            EARLIER,
            form="{:.0%}",
            what="with plain RSS it is a problem: the tail breaks at a lower load",
            paper="indeed a problem",
            ours=f"p95 above 1 ms from {rss:.0%}, alone from {alone:.0%}",
        ),
    )


def _job(case: str, load: float, share: float) -> dict[str, Any]:
    own_us = SERVICE_US - SOFTIRQ_US
    memcached = {
        "name": "memcached",
        "rate": str(load / SERVICE_US * 1e6),
        "cpus": [0],
        "service": f"exponential:{own_us}",
        "softirq": f"exponential:{SOFTIRQ_US}",
        "softirq_cpus": [0],
    }
    # The neighbour only takes packets: its own work fills what is left of its core.
    heavy = {
        "name": "network",
        "rate": str(2 * PACKETS_RPS),
        "cpus": [1],
        "connections": 64,
        "service": "fixed:0.1",
        "softirq": f"exponential:{SOFTIRQ_US}",
        "softirq_cpus": [0, 1] if case == RSS else [1],
    }
    services = [memcached] if case == ALONE else [memcached, heavy]
    return {
        "cpus": 2,
        "policy": "fifo",
        "services": services,
        "duration": seconds(6, share),
        "allow_overload": True,
        "in_flight_max": 20_000,
    }


EXPERIMENT = Experiment(
    ids=("L21",), title="a network-heavy neighbour", label="simulated", seconds=20, run=run
)
