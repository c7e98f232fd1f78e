"""L15, L23: N + 1 workers on N cores. The tail breaks at half load; pinned 1:1 it holds to 90 %."""

from __future__ import annotations

from sojourn.models.replicate.kind import (
    Curve,
    Experiment,
    Mark,
    Parameter,
    Replica,
    arithmetic,
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
from sojourn.models.simulator import Result, Simulator

LOADS = (0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97)
QOS_US = 1000.0  # L4, L23: p95 below 1 ms


def run(simulator: Simulator, share: float) -> Replica:
    """Simulate 13 and 12 pinned workers on 12 cores under CFS."""
    many = simulator.runs("sched", [_job(load, CORES + 1, share) for load in LOADS])
    even = simulator.runs("sched", [_job(load, CORES, share) for load in LOADS])
    p95_many, p95_even = _us(many, "p95"), _us(even, "p95")
    p50_many, p50_even = _us(many, "p50"), _us(even, "p50")
    breaks = next((x for x, y in zip(LOADS, p95_many, strict=True) if _over(y)), None)
    last_good = max((x for x, y in zip(LOADS, p95_even, strict=True) if not _over(y)), default=None)
    at = LOADS.index(breaks) if breaks is not None else 0
    hidden = breaks is not None and _ratio(p50_many[at], p50_even[at]) < 1.5
    return Replica(
        id="L15",
        title="13 threads on 12 cores against 12 on 12 pinned (Figs. 3 and 8)",
        label="simulated",
        parameters=(
            MEMCACHED,
            LATENCY,
            KERNEL,
            Parameter(
                name="placement",
                value="worker 13 shares core 0 for the whole run",
                source="L15: mistakes of placement last for 100s of ms; always is assumed",
            ),
        ),
        curves=tuple(
            Curve(name=name, x_label="load", y_label="µs", x=LOADS, y=y)
            for name, y in (
                ("13 on 12, p95", p95_many),
                ("13 on 12, p50", p50_many),
                ("12 on 12, p95", p95_even),
                ("12 on 12, p50", p50_even),
            )
        ),
        marks=(Mark(x=0.5, text="13 on 12: spike"), Mark(x=0.9, text="12 pinned: 1 ms")),
        checks=(
            arithmetic(
                what="13 threads: p95 spikes at about half of peak, (13/2)/12",
                paper="≈ 50 %",
                ours="nowhere" if breaks is None else f"above 1 ms from {breaks:.0%}",
                is_right=breaks is not None and 0.4 <= breaks <= 0.6,
            ),
            arithmetic(
                what="the median does not show it: 2 of 13 threads are slow",
                paper="not seen in median or mean",
                ours=f"p50 {_ratio(p50_many[at], p50_even[at]):.2f} times that of 12 threads there",
                is_right=hidden,
            ),
            within(
                last_good,
                0.85,
                0.95,
                form="{:.0%}",
                what="12 pinned threads keep p95 below 1 ms up to near 90 % (L23)",
                paper="≈ 90 %",
                ours=f"up to {last_good:.0%}" if last_good else "nowhere",
            ),
        ),
        notes=(
            (
                "By arithmetic: two of 13 threads share a core, which then carries 2/13 of "
                "the load and is full at (13/2)/12 = 54 % of peak; 15 % of requests are on it, "
                "more than the 5 % that p95 leaves out."
            ),
        ),
    )


def _job(load: float, workers: int, share: float) -> dict[str, object]:
    service = {
        "rate": str(load * PEAK_RPS),
        "service": f"exponential:{SERVICE_US}",
        "workers": workers,
        "connections": 100 * workers,
    }
    return {
        "cpus": CORES,
        "policy": "cfs",
        "services": [service],
        "allow_overload": True,
        "duration": seconds(4, share),
        "warmup": "1s",
        "in_flight_max": 20_000,
    }


def _us(results: list[Result], key: str) -> tuple[float | None, ...]:
    values = [result["services"][0]["sojourn_ns"][key] for result in results]
    return tuple(None if value is None else value / 1e3 for value in values)


def _over(us: float | None) -> bool:
    return us is None or us > QOS_US


def _ratio(a: float | None, b: float | None) -> float:
    return float("inf") if a is None or b is None else a / b


EXPERIMENT = Experiment(
    ids=("L15", "L23"), title="N + 1 threads on N cores", label="simulated", seconds=60, run=run
)
