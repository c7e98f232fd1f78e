"""Calls, instances and speeds, as a job of `sojourn-sim calls`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sojourn.errors import SpecFault
from sojourn.models.simulator import Job, Result
from sojourn.models.whatif import schedule
from sojourn.models.whatif.asked import NOTHING, Combination, Question
from sojourn.models.whatif.machine import count
from sojourn.units import parse_count, parse_ns

RUNS = 8
WIDE = 0.1  # half of an interval over its value: at high load a short run has too short queues
LONGER_MAX = 1_500_000  # requests up to which a steady run is made longer
LONGER = 4
INSTANCES_MAX = 10_000
USE = 0.6  # of the workers' time, at which the scaler aims
ANSWERED_MIN = 0.999  # a tail of those who were answered says nothing if many are not


def run(
    simulate: Callable[[Job], Result],
    of: Question,
    one: Combination,
    rate: str,
    key: str,
    *,
    mean_s: float,
) -> Result:
    """The result at a rate; at a steady one, of runs that are long enough for a narrow interval.

    A schedule is played to its end. A run begins with an empty queue. Where the interval is wide,
    it has few busy periods, and its queues are shorter than those that last.

    Args:
        simulate: runs a job.
        of: the question.
        one: its levels.
        rate: offered load.
        key: of the quantile.
        mean_s: service time.
    """
    requests = schedule.requests(rate, of.requests)
    while True:
        result = simulate(job(replace(of, requests=requests), one, rate, mean_s))
        lo, value, hi = tail(result, key)
        is_clear = math.isinf(value) or hi - lo <= 2 * WIDE * value
        if is_clear or ":" in rate or not rate or LONGER * requests > LONGER_MAX:
            return result
        requests *= LONGER


def job(of: Question, one: Combination, rate: str, mean_s: float) -> Job:
    """The job at a rate, which may change with time.

    Args:
        of: the question.
        one: its levels.
        rate: offered load.
        mean_s: service time. Of a service that scales, a steady rate begins with the instances
            that it ends up with; a schedule begins with the fewest.

    Raises:
        SpecFault: a level cannot be read, or a hedge has no second worker to go to.
    """
    service: dict[str, Any] = {
        "name": "service",
        "service": of.service,
        "unit": of.unit,
        "workers": count(one.cores, "--cores"),
        "instances": count(one.instances, "--instances", INSTANCES_MAX),
    }
    copies = count(one.fanout, "--fanout", INSTANCES_MAX)
    if copies > 1 and service["instances"] <= copies:  # a shard for each call
        service |= {"instances": copies, "pick": "each"}
    if one.scale not in NOTHING:
        least, most = _range(one.scale)
        start = max(service["instances"], _wanted(rate, copies * mean_s / service["workers"]))
        service |= {"instances": min(max(start, least), most), "pick": "shortest"}
        startup = time(one.startup, "--startup") or "0"
        service["scaling"] = {"min": least, "max": most, "startup": startup, "target": USE}
    if one.speed not in NOTHING:
        low, _, above = one.speed.partition("@")
        service["speed"] = {
            "low": _share(low, "--speed"),
            "up_above": _share(above or "0.8", "--speed"),
        }
    hedge = time(one.hedge, "--hedge")
    if hedge and _is_alone(service):
        raise SpecFault(
            "the second copy of a call waits behind the first one at its only worker",
            at="--hedge",
            fix=f"let it go to another instance: --instances {max(10, 2 * copies)}",
        )
    client = {
        "copies": copies,
        "timeout": time(one.timeout, "--timeout"),
        "hedge": hedge,
        "retries": _whole(one.retries, "--retries"),
        "backoff": time(one.backoff, "--backoff") or "0",
        "retry_budget": _share(one.budget, "--budget"),
        "fails": _share(one.errors, "--errors"),
    }
    return {
        "arrivals": of.arrivals,
        "rate": rate,
        "client": client,
        "services": [service],
        "requests": of.requests,
        "warmup": 0 if ":" in rate or not rate else of.requests // 10,
        "runs": RUNS,
        "seed": of.seed,
    }


def tail(result: Result, key: str) -> tuple[float, float, float]:
    """Both ends and value of a quantile, ns.

    Infinite where many go unanswered; from 0 to infinite where the runs say nothing of the ends.
    """
    interval, value = result["intervals"][key], result["sojourn_ns"][key]
    if value is None or result["answered"]["mid"] < ANSWERED_MIN or _grows(result):
        return (math.inf,) * 3
    if interval is None:
        return 0.0, float(value), math.inf
    return float(interval["lo"]), float(interval["mid"]), float(interval["hi"])


def _grows(result: Result) -> bool:
    return any(reason.startswith(("no steady", "not finished")) for reason in result["reasons"])


def _wanted(rate: str, busy_s: float) -> int:
    """Instances that the scaler ends up with, if a request keeps one of one worker busy so long."""
    try:
        wanted = parse_count(rate) * busy_s / USE
    except ValueError:
        return 1  # a schedule; or the simulator says what is wrong with it
    return math.ceil(min(max(wanted, 1.0), INSTANCES_MAX))


def most_instances(service: Mapping[str, Any]) -> int:
    """As many as it ever has."""
    return int(service.get("scaling", {}).get("max", service["instances"]))


def _is_alone(service: Mapping[str, Any]) -> bool:
    """Whether both copies of a call come to the same worker."""
    instances = most_instances(service)
    return service["workers"] == 1 and (instances == 1 or service.get("pick") == "each")


def time(text: str, at: str) -> str:
    """A time with a unit, as the simulator reads it; "" for none.

    Raises:
        SpecFault: it is none. A bare number would be seconds, and a hedge after 20 is hardly one.
    """
    if text in NOTHING:
        return ""
    try:
        parse_ns(text, needs_unit=True)
    except ValueError as error:
        raise SpecFault(str(error), at=at, fix="write a time with its unit, such as 20ms") from None
    return text


def _share(text: str, at: str) -> float:
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise SpecFault(f"'{text}' is no share", at=at, fix="give 0 to 1, or 0% to 100%")
    return value


def _whole(text: str, at: str) -> int:
    return 0 if text == "0" else count(text, at)


def _range(text: str) -> tuple[int, int]:
    least, dots, most = text.partition("..")
    if not dots:
        raise SpecFault(f"'{text}' is no range", at="--scale", fix="write 1..8")
    ends = count(least, "--scale", INSTANCES_MAX), count(most, "--scale", INSTANCES_MAX)
    if ends[0] > ends[1]:
        raise SpecFault(f"'{text}' ends before it begins", at="--scale", fix="write 1..8")
    return ends
