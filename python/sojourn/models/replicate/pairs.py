"""Two latency-critical services on one core, every pair of loads: the matrices of Figs. 6 and 9."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.models.replicate.kind import Matrix, Parameter
from sojourn.models.replicate.paper import seconds
from sojourn.models.simulator import Simulator

STEPS = tuple(step / 10 for step in range(1, 11))
A_US, B_US = 100.0, 1000.0
PERIOD_NS = 24e6  # L24: equal to CFS's
QOS_FACTOR = 5.0  # L19
BOTH, ONLY_A, ONLY_B, NONE = "AB", "A", "B", "-"

PARAMETERS = (
    Parameter(name="A (memcached)", value="service time of mean 100 µs on the core",
              source="section 3.2.5: average latency on the order of 100 µs; that its latency at "
              "low load is its service time is assumed"),
    Parameter(name="B (1-ms service)", value="service time of mean 1 ms",
              source="section 3.2.5: on the order of 1 ms"),
    Parameter(name="service times", value="exponential, and fixed beside it",
              source="not stated (fixed value size, L9): assumed, so varied"),
    Parameter(name="QoS", value="p95 ≤ 5 × p95 alone at 10 % load", source="L19"),
    Parameter(name="shares", value="equal", source="assumed, as in L18"),
)  # fmt: skip


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
    found: list[Matrix] = []
    for index, setting in enumerate(settings):
        part = results[index * 100 : (index + 1) * 100]
        names = [_verdict(result["services"], bounds[setting.shape]) for result in part]
        rows = tuple(tuple(names[row * 10 : row * 10 + 10]) for row in range(10))
        found.append(
            Matrix(name=setting.name, row_label="load of B", column_label="load of A",
                   rows=STEPS, columns=STEPS, cells=rows)
        )  # fmt: skip
    return found


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
    grants: list[dict[str, Any]] = [{"priority": 2, "warp": f"{setting.warp_ms:g}ms"},
                                    {"priority": 1}]  # fmt: skip
    if setting.has_quota:
        for grant, load in zip(grants, (a, b), strict=True):
            grant["quota"] = f"{PERIOD_NS * load / (a + b):.0f}ns"
    services = [
        {"name": name, "rate": str(load / mean * 1e6), "service": f"{setting.shape}:{mean:g}",
         "grant": grant}
        for name, load, mean, grant in zip("AB", (a, b), (A_US, B_US), grants, strict=True)
    ]  # fmt: skip
    return {
        "policy": setting.policy, "tuning": dict(setting.tuning or {}), "services": services,
        "duration": seconds(40, share), "allow_overload": True, "in_flight_max": 20_000,
    }  # fmt: skip


def _bounds(simulator: Simulator, shape: str, share: float) -> tuple[float, float]:
    """5 × p95 of each service alone at 10 % load, ns."""
    jobs = [
        {"policy": "fifo", "duration": seconds(60, share),
         "services": [{"rate": str(0.1 / mean * 1e6), "service": f"{shape}:{mean:g}"}]}
        for mean in (A_US, B_US)
    ]  # fmt: skip
    a, b = (r["services"][0]["sojourn_ns"]["p95"] for r in simulator.runs("sched", jobs))
    return QOS_FACTOR * a, QOS_FACTOR * b


def _verdict(services: list[dict[str, Any]], bounds: tuple[float, float]) -> str:
    p95 = [service["sojourn_ns"]["p95"] for service in services]
    a, b = (value is not None and value <= bound for value, bound in zip(p95, bounds, strict=True))
    return {(True, True): BOTH, (True, False): ONLY_A, (False, True): ONLY_B}.get((a, b), NONE)
