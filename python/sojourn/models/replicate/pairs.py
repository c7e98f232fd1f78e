"""Two latency-critical services on one core, every pair of loads: the matrices of Figs. 6 and 9.

The paper states *latencies* (about 100 µs and 1 ms, section 3.2.5), measured by clients over a
network, and loads in percent of peak QPS. What a request costs the core follows from the peak: 12
cores serve 1.1 M QPS (L8), so memcached needs 10.9 µs of its 100. The rest is spent outside the
core (client, network, other layers), cannot be delayed by the scheduler, and belongs to both
services. It counts in the QoS target, because that is a multiple of the measured latency.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.models.replicate.kind import Matrix, Parameter
from sojourn.models.replicate.paper import SERVICE_US, seconds
from sojourn.models.simulator import Simulator

STEPS = tuple(step / 10 for step in range(1, 11))
LATENCY_US = (100.0, 1000.0)  # section 3.2.5: mean latency of A and of B
LOW = 0.1  # "low load": the lowest of the figure
PERIOD_NS = 24e6  # L24: equal to CFS's
QOS_FACTOR = 5.0  # L19
BOTH, ONLY_A, ONLY_B, NONE = "AB", "A", "B", "-"

PARAMETERS = (
    Parameter(
        name="A (memcached)",
        value=f"{SERVICE_US:.1f} µs of the core per request",
        source="L8: 1.1 M QPS on 12 cores",
    ),
    Parameter(
        name="A's mean latency at low load",
        value="100 µs; what is not on the core is "
        "spent outside it, by both services, and is not delayed",
        source="section 3.2.5: on the order of 100 µs; L12: 19 of 50 µs on the server",
    ),
    Parameter(
        name="B (1-ms service)",
        value="mean latency 1 ms at low load, the same time outside",
        source="section 3.2.5: on the order of 1 ms",
    ),
    Parameter(
        name="service times",
        value="exponential, and fixed beside it",
        source="not stated (fixed value size, L9): assumed, so varied",
    ),
    Parameter(name="QoS", value="p95 ≤ 5 × p95 alone at 10 % load", source="L19"),
    Parameter(name="shares", value="equal", source="assumed, as in L18"),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """What one request costs, µs: on the core for A and B, and outside it."""

    a_us: float
    b_us: float
    outside_us: float


def pair(shape: str) -> Pair:
    """Split both latencies at low load into time on the core, queueing included, and outside it.

    >>> round(pair("exponential").outside_us, 1), round(pair("exponential").b_us)
    (87.9, 821)
    """
    # Mean sojourn over mean service at low load: M/M/1, or M/D/1 (Pollaczek-Khinchine).
    queueing = 1 / (1 - LOW) if shape == "exponential" else 1 + LOW / (2 * (1 - LOW))
    outside_us = LATENCY_US[0] - SERVICE_US * queueing
    return Pair(SERVICE_US, (LATENCY_US[1] - outside_us) / queueing, outside_us)


@dataclass(frozen=True, slots=True)
class Setting:
    """One scheduler as one matrix."""

    name: str
    policy: str
    shape: str = "exponential"
    warp_ms: float = 0.0
    has_quota: bool = False
    tuning: Mapping[str, str] | None = None


def matrices(simulator: Simulator, settings: list[Setting], share: float) -> list[Matrix]:
    """One matrix per setting; rows are B's load, columns A's, both ascending."""
    bounds = {shape: _bounds(simulator, shape, share) for shape in {s.shape for s in settings}}
    cells = [(setting, a, b) for setting in settings for b in STEPS for a in STEPS]
    results = simulator.runs("sched", [_job(s, a, b, share) for s, a, b in cells])
    outcome: list[Matrix] = []
    for index, setting in enumerate(settings):
        part = results[index * 100 : (index + 1) * 100]
        outside_ns = pair(setting.shape).outside_us * 1e3
        names = [_verdict(r["services"], bounds[setting.shape], outside_ns) for r in part]
        rows = tuple(tuple(names[row * 10 : row * 10 + 10]) for row in range(10))
        outcome.append(
            Matrix(
                name=setting.name,
                row_label="load of B",
                column_label="load of A",
                rows=STEPS,
                columns=STEPS,
                cells=rows,
            )
        )
    return outcome


def where(matrix: Matrix, test: Callable[[float, float], bool]) -> list[str]:
    """Verdicts of the cells whose loads (a, b) pass `test`."""
    return [
        matrix.cells[i][j]
        for i, b in enumerate(matrix.rows)
        for j, a in enumerate(matrix.columns)
        if test(round(a, 9), round(b, 9))
    ]


def _job(setting: Setting, a: float, b: float, share: float) -> dict[str, Any]:
    """L24: priorities rate-monotonic; quotas proportional to the offered loads."""
    grants: list[dict[str, Any]] = [
        {"priority": 2, "warp": f"{setting.warp_ms:g}ms"},
        {"priority": 1},
    ]
    if setting.has_quota:
        for grant, load in zip(grants, (a, b), strict=True):
            grant["quota"] = f"{PERIOD_NS * load / (a + b):.0f}ns"
    costs = pair(setting.shape)
    services = [
        {
            "name": name,
            "rate": str(load / mean * 1e6),
            "service": f"{setting.shape}:{mean:.6g}",
            "grant": grant,
        }
        for name, load, mean, grant in zip(
            "AB", (a, b), (costs.a_us, costs.b_us), grants, strict=True
        )
    ]
    # Above 100 % one of them fails whatever the scheduler does: less time shows which.
    base_s = 12.0 if a + b < 1 - 1e-9 else 4.0
    return {
        "policy": setting.policy,
        "tuning": dict(setting.tuning or {}),
        "services": services,
        "duration": seconds(base_s, share),
        "allow_overload": True,
        "in_flight_max": 20_000,
    }


def _bounds(simulator: Simulator, shape: str, share: float) -> tuple[float, float]:
    """5 × p95 of each service alone at 10 % load, ns."""
    costs = pair(shape)
    jobs = [
        {
            "policy": "fifo",
            "duration": seconds(60, share),
            "services": [{"rate": str(LOW / mean * 1e6), "service": f"{shape}:{mean:.6g}"}],
        }
        for mean in (costs.a_us, costs.b_us)
    ]
    a, b = (r["services"][0]["sojourn_ns"]["p95"] for r in simulator.runs("sched", jobs))
    outside_ns = costs.outside_us * 1e3
    return QOS_FACTOR * (a + outside_ns), QOS_FACTOR * (b + outside_ns)


def _verdict(services: list[dict[str, Any]], bounds: tuple[float, float], outside_ns: float) -> str:
    p95 = [service["sojourn_ns"]["p95"] for service in services]
    a, b = (
        value is not None and value + outside_ns <= bound
        for value, bound in zip(p95, bounds, strict=True)
    )
    return {(True, True): BOTH, (True, False): ONLY_A, (False, True): ONLY_B}.get((a, b), NONE)
