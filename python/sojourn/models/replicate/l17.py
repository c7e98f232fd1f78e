"""L17: memcached at nice −20 shares its CPU with a batch program (Fig. 4).

At nice −20 memcached practically never waits for the CPU, so what is left is the switch itself.
Table 1 finds no cost in it: 18.7 µs beside a CPU-bound task, 21.5 µs on an idle CPU. That is the
model's parameter; a switch of 2 µs is drawn beside it, because later machines are not so lucky.
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
    within,
)
from sojourn.models.replicate.l29 import NICE
from sojourn.models.replicate.pairs import pair
from sojourn.models.replicate.paper import KERNEL, LATENCY, MEMCACHED, SERVICE_US, seconds
from sojourn.models.simulator import Simulator

LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
ALIKE = 0.05  # of what a client sees; a switch as long as a request makes 8 % of it


@dataclass(frozen=True, slots=True)
class Case:
    """One curve of the figure: how its tasks share a CPU, and what a switch costs."""

    name: str
    weight: int = NICE
    switch_us: float = 0.0
    is_shared: bool = True


ALONE = Case("alone", is_shared=False)
NICED = Case("nice −20 beside a batch program")
DEAR = Case("nice −20, a switch of 2 µs", switch_us=2.0)
FAIR = Case("nice 0 beside a batch program", weight=1024)
CASES = (ALONE, NICED, DEAR, FAIR)


def run(simulator: Simulator, share: float) -> Replica:
    """Sweep the load for every case."""
    results = simulator.runs("sched", [_job(c, load, share) for c in CASES for load in LOADS])
    outside_us = pair("exponential").outside_us
    curves = []
    for at, case in enumerate(CASES):
        part = results[at * len(LOADS) : (at + 1) * len(LOADS)]
        p95 = [result["services"][0]["sojourn_ns"]["p95"] for result in part]
        y = tuple(None if value is None else value / 1e3 + outside_us for value in p95)
        curves.append(Curve(name=case.name, x_label="load", y_label="p95 µs", x=LOADS, y=y))
    return Replica(
        id="L17",
        title="memcached at nice −20 beside a CPU-bound program on its CPU (Fig. 4)",
        label="simulated",
        parameters=(
            MEMCACHED,
            LATENCY,
            KERNEL,
            Parameter(
                name="context switch",
                value="0; 2 µs beside it",
                source="L12, columns Unl and Ctx Sw: the second is shorter; 2 µs is assumed",
            ),
            Parameter(name="outside the core", value=f"{outside_us:.0f} µs", source="L19"),
        ),
        curves=tuple(curves),
        checks=(_alike(curves), _waits(curves)),
        notes=(
            (
                "Caches and TLBs are not in the model: that they do not matter is the paper's "
                "measurement. What is simulated is that the scheduler adds no wait at nice −20."
            ),
        ),
    )


def _ratios(curves: list[Curve], name: str) -> list[float]:
    results = {curve.name: curve.y for curve in curves}
    return [
        y / alone if y and alone else float("inf")
        for y, alone in zip(results[name], results[ALONE.name], strict=True)
    ]


def _alike(curves: list[Curve]) -> Check:
    ratios = _ratios(curves, NICED.name)
    return within(
        max(ratios, key=lambda ratio: abs(ratio - 1)),
        1 - ALIKE,
        1 + ALIKE,
        what="at nice −20 p95 is that alone, at loads of 10 to 90 %",
        paper="affected so little",
        ours=f"{min(ratios):.2f} to {max(ratios):.2f} times",
    )


def _waits(curves: list[Curve]) -> Check:
    # From half of peak on, an equal share is less than what is offered, whatever shares equally;
    # below it, whoever uses less than its share comes first. So the loads decide it (M31).
    worst = max(_ratios(curves, FAIR.name))
    return arithmetic(
        what="what delays memcached is waiting for the CPU: at nice 0 its p95 explodes",
        paper="almost entirely due to wait time",
        ours=f"up to {worst:.0f} times that alone",
        is_right=worst >= 2.0,
    )


def _job(case: Case, load: float, share: float) -> dict[str, Any]:
    service = {
        "rate": str(load / SERVICE_US * 1e6),
        "service": f"exponential:{SERVICE_US}",
        "grant": {"weight": case.weight},
    }
    return {
        "policy": "cfs",
        "services": [service],
        "switch": f"{case.switch_us:g}us",
        "neighbours": [{"kind": "spin"}] if case.is_shared else [],
        "duration": seconds(8, share),
        "allow_overload": True,
        "in_flight_max": 20_000,
    }


EXPERIMENT = Experiment(
    ids=("L17",), title="context switches", label="simulated", seconds=20, run=run
)
