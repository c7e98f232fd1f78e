"""C22: memcached with NGINX on the same seven cores, every pair of loads (Fig. 11).

One core represents the seven, because threads are pinned. (a) Both services on the same logical
core, under CFS; (b) each on a hyper-thread of its own, which are slower while both are busy.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from sojourn.models.replicate.c20 import APPS, THREADS
from sojourn.models.replicate.kind import Check, Experiment, Matrix, Parameter, Replica, within
from sojourn.models.replicate.pairs import where
from sojourn.models.replicate.paper import KERNEL, LATENCY, seconds
from sojourn.models.simulator import Simulator
from sojourn.papers import matrices as paper_matrices

BOTH, LOADS, PAPER = paper_matrices.BOTH, paper_matrices.LOADS, paper_matrices.PAPER
SAME, OTHER = paper_matrices.SAME, paper_matrices.OTHER
SMT_SLOWDOWN = 1.5
CELLS = 5  # of 49: what may differ
ALIKE = 0.05  # as a share of load


def run(simulator: Simulator, share: float) -> Replica:
    """Simulate every pair of loads and fill the matrices of both services."""
    cases = [(name, m, n) for name in (SAME, OTHER) for m in LOADS for n in LOADS]
    results = simulator.runs("sched", [_job(*case, share) for case in cases])
    size = len(LOADS)
    names = [_cell(result["services"]) for result in results]
    ours = {
        name: tuple(tuple(names[(at * size + row) * size :][:size]) for row in range(size))
        for at, name in enumerate((SAME, OTHER))
    }
    paper = {name: tuple(tuple(row.split()) for row in rows) for name, rows in PAPER.items()}
    matrices = {
        (name, who): _matrix(f"{name}, {who}", cells)
        for who, table in (("simulated", ours), ("paper", paper))
        for name, cells in table.items()
    }
    return Replica(
        id="C22",
        title="memcached with NGINX on seven cores (Fig. 11)",
        label="simulated",
        parameters=(
            *(
                Parameter(
                    name=app.name,
                    source="C4, C5",
                    value=f"exponential, mean {app.service_us:.1f} µs; p99 ≤ "
                    f"{app.qos_ns / 1e6:g} ms",
                )
                for app in APPS
            ),
            Parameter(
                name="hyper-threads",
                source="assumed: not stated",
                value=f"two busy siblings are {SMT_SLOWDOWN:g} times slower each",
            ),
            Parameter(name="context switch, caches", value="no cost", source="not stated"),
            LATENCY,
            KERNEL,
        ),
        matrices=tuple(matrices.values()),
        checks=_checks(matrices),
        notes=(
            (
                "With no cost of switches, caches and interrupts two services share a core to far "
                "higher loads than the paper's: queueing and the scheduler alone do not explain "
                "Fig. 11a, where 50 % together is the end."
            ),
        ),
    )


def _checks(matrices: dict[tuple[str, str], Matrix]) -> tuple[Check, ...]:
    results = []
    for name in (SAME, OTHER):
        ours, paper = matrices[name, "simulated"], matrices[name, "paper"]
        differ = sum(
            a != b
            for left, right in zip(ours.cells, paper.cells, strict=True)
            for a, b in zip(left, right, strict=True)
        )
        results.append(
            within(
                differ,
                0,
                CELLS,
                what=f"{name}: who meets the target, cell by cell",
                paper=f"{_both(paper)} cells good for both",
                ours=f"{differ} of {len(LOADS) ** 2} cells differ; {_both(ours)} good for both",
            )
        )
    tops = {who: _together(matrices[SAME, who]) for who in ("simulated", "paper")}
    gained = {
        who: _both(matrices[OTHER, who]) / max(1, _both(matrices[SAME, who]))
        for who in ("simulated", "paper")
    }
    top, gain = tops["paper"], gained["paper"]
    return (
        *results,
        within(
            tops["simulated"],
            top - ALIKE,
            top + ALIKE,
            form="{:.0%}",
            what="same logical cores: both are good up to this load together",
            paper=f"{top:.0%}",
            ours=f"{tops['simulated']:.0%}",
        ),
        within(
            gained["simulated"],
            1.2,
            float("inf"),
            what="hyper-threads of their own are better: cells good for both, over the same cores",
            paper=f"{gain:.1f} times",
            ours=f"{gained['simulated']:.2f} times",
        ),
    )


def _both(matrix: Matrix) -> int:
    return where(matrix, lambda _n, _m: True).count(BOTH)


def _together(matrix: Matrix) -> float:
    """Highest sum of loads on whose diagonal all cells are good for both, and below it."""
    tops = [0.0]
    for total in (tenths / 10 for tenths in range(2, 15)):
        if set(where(matrix, partial(_adds_to, total))) != {BOTH}:
            break
        tops.append(total)
    return tops[-1]


def _adds_to(total: float, a: float, b: float) -> bool:
    return abs(a + b - total) < 1e-6


def _matrix(name: str, cells: tuple[tuple[str, ...], ...]) -> Matrix:
    return Matrix(
        name=name,
        row_label="load of memcached",
        column_label="load of NGINX",
        rows=LOADS,
        columns=LOADS,
        cells=cells,
    )


def _cell(services: list[dict[str, Any]]) -> str:
    good = [service["sojourn_ns"]["p99"] for service in services]
    letters = [
        letter
        for letter, app, p99 in zip("MN", APPS, good, strict=True)
        if p99 is not None and p99 <= app.qos_ns
    ]
    return "".join(letters) or "-"


def _job(name: str, m: float, n: float, share: float) -> dict[str, Any]:
    services = [
        {
            "name": app.name,
            "rate": str(load * app.max_rps / THREADS),
            "service": f"exponential:{app.service_us:.6g}",
            "connections": 100,
            "cpus": [0 if name == SAME else at],
        }
        for at, (app, load) in enumerate(zip(APPS, (m, n), strict=True))
    ]
    return {
        "cpus": 1 if name == SAME else 2,
        "policy": "cfs",
        "services": services,
        "smt_slowdown": 1.0 if name == SAME else SMT_SLOWDOWN,
        "allow_overload": True,
        "duration": seconds(6, share),
        "in_flight_max": 20_000,
    }


EXPERIMENT = Experiment(
    ids=("C22",), title="memcached with NGINX", label="simulated", seconds=60, run=run
)
