"""CPUs, a scheduler and a neighbour, as a job of `sojourn-sim sched`."""

from __future__ import annotations

from typing import Any

from sojourn.errors import SpecFault
from sojourn.models.simulator import Job, Result
from sojourn.models.whatif.asked import Combination, Question

SECONDS_MIN, SECONDS_MAX = 4.0, 600.0  # slices are ms: shorter runs see too few of them
PRIORITY = 10  # of the service under `rt`: its threads go before the neighbour


def job(of: Question, one: Combination, rate_rps: float) -> Job:
    """The job at a rate.

    Raises:
        SpecFault: a level cannot be read.
    """
    cpus = count(one.cores, "--cores")
    seconds = min(SECONDS_MAX, max(SECONDS_MIN, of.requests / rate_rps))
    service: dict[str, Any] = {
        "arrivals": of.arrivals,
        "rate": f"{rate_rps:.6g}",
        "service": of.service,
        "unit": of.unit,
        "workers": cpus,
        "connections": 16 * cpus,
    }
    if one.scheduler == "rt":
        service["grant"] = {"priority": PRIORITY}
    return {
        "cpus": cpus,
        "policy": one.scheduler,
        "services": [service],
        "neighbours": neighbours(one.neighbour, cpus),
        "duration": f"{seconds:.3f}s",
        "warmup": "1s",
        "allow_overload": True,
        "seed": of.seed,
    }


def neighbours(text: str, cpus: int) -> list[dict[str, Any]]:
    """`none`, `spin`, or `6ms/42ms`: work and sleep, for ever; one task on each CPU."""
    if text == "none":
        return []
    every = list(range(cpus))
    if text == "spin":
        return [{"name": "spin", "kind": "spin", "cpus": every}]
    on, slash, off = text.partition("/")
    if not slash:
        raise SpecFault(
            f"'{text}' is no neighbour", at="--neighbour", fix="write none, spin or 6ms/42ms"
        )
    return [{"name": text, "kind": "square", "on": on, "off": off, "cpus": every}]


def tail(result: Result, key: str) -> tuple[float, float, float]:
    """Both ends and value of a quantile, ns; infinite where the queue grows."""
    service = result["services"][0]
    value = service["sojourn_ns"][key]
    is_full = service["achieved_rps"] < 0.97 * service["offered_rps"]
    if value is None or is_full:
        return (float("inf"),) * 3
    interval = service["intervals"][key]
    if interval is None:
        return float(value), float(value), float(value)
    return float(interval["lo"]), float(value), float(interval["hi"])


def progress(result: Result) -> float | None:
    """Share of its pace that the neighbour progress."""
    every = result["neighbours"]
    return float(every[0]["progress"]) if every else None


def count(text: str, at: str, most: int = 1024) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise SpecFault(f"'{text}' is no count", at=at, fix=f"give 1 to {most:,}")
    return int(text)
