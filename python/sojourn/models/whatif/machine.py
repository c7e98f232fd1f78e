"""CPUs, a scheduler and a neighbour, as a job of `sojourn-sim sched`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sojourn.errors import SpecFault
from sojourn.models.simulator import Job, Result
from sojourn.models.whatif.asked import Combination, Question
from sojourn.units import parse_count, parse_ns

SECONDS_MIN, SECONDS_MAX = 4.0, 20e3  # slices are ms: shorter runs see too few of them
FIRST_SECONDS_MAX = 600.0  # of the first run at a rate
REQUESTS_MAX = 8e6  # of one run: some seconds of the simulator
BEYOND = 10.0  # times what the CPUs can do: from there on nothing changes any more
LONGER = 4.0  # times as long, while too few busy periods carry the tail
FAR = 3.0  # a tail that is so many times the bound, or its inverse, decides the search as it is
FULL = 0.97  # of the offered load; a service that achieves less has a queue that grows
UNSTABLE = "unstable: "  # how the simulator's reason begins where a CPU is offered too much
PRIORITY = 10  # of the service under `rt`: its threads go before the neighbour


def simulated_rps(rate_rps: float, capacity_rps: float) -> float:
    """The rate that represents a rate, which may be far beyond what the CPUs can do.

    A run of some seconds takes hours where each second has billions of requests. Long before, the
    queue is never empty: then tasks share the CPUs as they do at any higher rate.

    >>> simulated_rps(5e5, 1e3), simulated_rps(1e9, 1e3), simulated_rps(1e9, 1e6)
    (500000.0, 2000000.0, 10000000.0)
    """
    return min(rate_rps, max(BEYOND * capacity_rps, REQUESTS_MAX / SECONDS_MIN))


def run(
    simulate: Callable[[Job], Result], of: Question, one: Combination, rate_rps: float, key: str
) -> Result:
    """The result at a rate, of a run that is long enough for an interval of the tail, if any is.

    Args:
        simulate: runs a job.
        of: the question.
        one: its levels.
        rate_rps: offered load, as `simulated_rps` says.
        key: of the quantile.
    """
    seconds = min(FIRST_SECONDS_MAX, max(SECONDS_MIN, of.requests / rate_rps))
    seconds = min(seconds, REQUESTS_MAX / rate_rps)
    most = max(seconds, min(SECONDS_MAX, REQUESTS_MAX / rate_rps))
    while True:
        result = simulate(job(of, one, rate_rps, seconds))
        lo, value, _ = tail(result, key)
        is_far = not of.rate and not of.bound_ns / FAR < value < of.bound_ns * FAR
        if lo > 0 or is_far or seconds >= most:
            return result
        seconds = min(most, LONGER * seconds)


def job(of: Question, one: Combination, rate_rps: float, seconds: float) -> Job:
    """The job at a rate.

    Raises:
        SpecFault: a level cannot be read.
    """
    cpus = count(one.cores, "--cores")
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
        "duration": f"{seconds * 1e9:.0f}ns",
        "warmup": f"{min(1.0, seconds) * 1e9:.0f}ns",
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
    for part in (on, off):
        try:
            parse_ns(part, needs_unit=True)
        except ValueError as error:
            raise SpecFault(str(error), at="--neighbour", fix="write 6ms/42ms") from None
    return [{"name": text, "kind": "square", "on": on, "off": off, "cpus": every}]


def tail(result: Result, key: str) -> tuple[float, float, float]:
    """Both ends and value of a quantile, ns.

    Infinite where the queue grows; from 0 to infinite where the run says nothing of the ends.
    """
    service = result["services"][0]
    value = service["sojourn_ns"][key]
    if value is None or _grows(result):
        return (math.inf,) * 3
    interval = service["intervals"][key]
    if interval is None:
        return 0.0, float(value), math.inf
    return float(interval["lo"]), float(value), float(interval["hi"])


def _grows(result: Result) -> bool:
    """Whether it does: also where a short run has not seen it yet."""
    service = result["services"][0]
    if any(reason.startswith(UNSTABLE) for reason in result.get("reasons", ())):
        return True
    return bool(service["achieved_rps"] < FULL * service["offered_rps"])


def progress(result: Result) -> float | None:
    """Share of its pace that the neighbour progress."""
    every = result["neighbours"]
    return float(every[0]["progress"]) if every else None


def rps(text: str) -> float:
    """A steady rate, requests/s.

    Raises:
        SpecFault: it is none.

    >>> rps("2k")
    2000.0
    """
    try:
        result = parse_count(text)
    except ValueError as error:
        raise SpecFault(str(error), at="--rate", fix="write --rate 20k") from None
    if result <= 0:
        raise SpecFault(f"'{text}' is no rate", at="--rate", fix="give a rate above 0")
    return result


def count(text: str, at: str, most: int = 1024) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise SpecFault(f"'{text}' is no count", at=at, fix=f"give 1 to {most:,}")
    return int(text)
