"""L7: three probes that load one of twelve threads more than the others (section 3.1).

A service that does not balance its load has one thread that is full long before the others, and
only the tail shows it. Each probe is held against the same twelve threads without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
from sojourn.models.replicate.paper import (
    CORES,
    KERNEL,
    LATENCY,
    MEMCACHED,
    PEAK_RPS,
    SERVICE_US,
    seconds,
)
from sojourn.models.simulator import Simulator
from sojourn.units import outward

LOADS = (0.1, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 0.95)
WORKER_CPUS = tuple(range(0, 2 * CORES, 2))  # the first hyper-thread of each core
QOS_US = 1000.0  # L4: p95 below 1 ms
SMT_SLOWDOWN = 1.5
EARLIER = 0.8  # "far lower load": at most this share of the load without the probe


@dataclass(frozen=True, slots=True)
class Probe:
    """One way to load a thread more than the others."""

    name: str
    workers: int = CORES
    smt_slowdown: float = 1.0
    neighbour_on: int | None = None


ALONE = Probe("no probe")
PROBES = (
    Probe("13 threads on 12 cores", workers=CORES + 1),
    Probe("one core's other hyper-thread busy", smt_slowdown=SMT_SLOWDOWN, neighbour_on=1),
    Probe("one core time-shared", neighbour_on=0),
)


def run(simulator: Simulator, share: float) -> Replica:
    """Sweep the load without a probe, and with each."""
    cases = (ALONE, *PROBES)
    results = simulator.runs("sched", [_job(p, load, share) for p in cases for load in LOADS])
    curves: list[Curve] = []
    for at, probe in enumerate(cases):
        spans = [
            r["services"][0]["sojourn_ns"] for r in results[at * len(LOADS) : (at + 1) * len(LOADS)]
        ]
        curves += [
            _curve(f"{probe.name}, {q}", [span[q] for span in spans]) for q in ("p95", "p50")
        ]
    return Replica(
        id="L7",
        title="Three probes for a service that does not balance its threads (section 3.1)",
        label="simulated",
        parameters=(
            MEMCACHED,
            LATENCY,
            KERNEL,
            Parameter(
                name="hyper-thread",
                source="assumed: not stated",
                value=f"two busy siblings are {SMT_SLOWDOWN:g} times slower each",
            ),
            Parameter(
                name="placement",
                value="pinned for the whole run",
                source="L15: mistakes last for 100s of ms; always is assumed",
            ),
        ),
        curves=tuple(curves),
        checks=tuple(check for k in range(len(PROBES)) for check in _checks(curves, k)),
    )


def _checks(curves: list[Curve], k: int) -> list[Check]:
    """The tail breaks early; below that, the median does not tell."""
    reference, p95, p50 = curves[0], curves[2 + 2 * k], curves[3 + 2 * k]
    without, value = breaks(reference, QOS_US), breaks(p95, QOS_US)
    at = LOADS.index(value) if value < 1 else -1
    medians = [(a, b) for a, b in zip(p50.y[: at + 1], curves[1].y, strict=False)]
    worst = max((a / b if a and b else float("inf") for a, b in medians), default=float("inf"))
    probe = PROBES[k]
    tail = {
        "what": f"{probe.name}: the tail breaks at a far lower load",
        "paper": "far lower load",
        "ours": f"p95 above 1 ms from {value:.0%}, without the probe from {without:.0%}",
    }
    early = value / without
    # As in L15: two threads on one core are full at (13/2)/12 of peak, whatever they serve. Beside
    # a spinner, half a core is full at half of peak.
    is_sure = probe.workers > CORES or probe.neighbour_on in WORKER_CPUS
    return [
        arithmetic(**tail, is_right=early <= EARLIER)
        if is_sure
        else within(early, 0, EARLIER, form="{:.0%}", **tail),
        arithmetic(
            what=f"{probe.name}: the median does not show it, one thread in twelve is slow",
            paper="readily observable in tail latency",
            ours=f"p50 at most {outward(worst, 2, 1):.2f} times that without, up to there",
            is_right=worst < 1.25,
        ),
    ]


def _curve(name: str, values_ns: list[float | None]) -> Curve:
    y = tuple(None if value is None else value / 1e3 for value in values_ns)
    return Curve(name=name, x_label="load", y_label="µs", x=LOADS, y=y)


def _job(probe: Probe, load: float, share: float) -> dict[str, Any]:
    """Workers on `WORKER_CPUS`; odd CPUs are the second hyper-threads."""
    service = {
        "rate": str(load * PEAK_RPS),
        "service": f"exponential:{SERVICE_US}",
        "workers": probe.workers,
        "connections": 100 * probe.workers,
        "cpus": list(WORKER_CPUS),
    }
    beside = [] if probe.neighbour_on is None else [{"kind": "spin", "cpus": [probe.neighbour_on]}]
    return {
        "cpus": 2 * CORES,
        "policy": "cfs",
        "services": [service],
        "neighbours": beside,
        "smt_slowdown": probe.smt_slowdown,
        "allow_overload": True,
        "duration": seconds(2, share),
        "warmup": "500ms",
        "in_flight_max": 20_000,
    }


EXPERIMENT = Experiment(
    ids=("L7",), title="imbalance probes", label="simulated", seconds=60, run=run
)
