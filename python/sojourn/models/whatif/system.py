"""Calls, instances and speeds, as a job of `sojourn-sim calls`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sojourn.errors import SpecFault
from sojourn.models.simulator import Job, Result
from sojourn.models.whatif.asked import Combination, Question
from sojourn.models.whatif.machine import count

NOTHING = ("", "none", "0")
RUNS = 8
WIDE = 0.1  # half of an interval over its value: at high load a short run has too short queues
REQUESTS_MAX = 1_500_000  # of one run
LONGER = 4
ANSWERED_MIN = 0.999  # a tail of those who were answered says nothing if many are not


def run(
    simulate: Callable[[Job], Result], of: Question, one: Combination, rate: str, key: str
) -> Result:
    """The result at a rate; at a steady one, of runs that are long enough for a narrow interval.

    A run begins with an empty queue. Where the interval is wide, it has few busy periods, and its
    queues are shorter than those that last.

    Args:
        simulate: runs a job.
        of: the question.
        one: its levels.
        rate: offered load.
        key: of the quantile.
    """
    requests = of.requests
    while True:
        result = simulate(job(replace(of, requests=requests), one, rate))
        lo, value, hi = tail(result, key)
        is_clear = math.isinf(value) or hi - lo <= 2 * WIDE * value
        if is_clear or ":" in rate or not rate or LONGER * requests > REQUESTS_MAX:
            return result
        requests *= LONGER


def job(of: Question, one: Combination, rate: str) -> Job:
    """The job at a rate, which may change with time.

    Raises:
        SpecFault: a level cannot be read.
    """
    service: dict[str, Any] = {
        "name": "service",
        "service": of.service,
        "unit": of.unit,
        "workers": count(one.cores, "--cores"),
        "instances": count(one.instances, "--instances", 10_000),
    }
    copies = count(one.fanout, "--fanout", 10_000)
    if copies > 1 and service["instances"] <= copies:  # a shard for each call
        service |= {"instances": copies, "pick": "each"}
    if one.scale not in NOTHING:
        least, most = _range(one.scale)
        start = min(max(service["instances"], least), most)
        service |= {"instances": start, "pick": "shortest"}
        service["scaling"] = {"min": least, "max": most, "startup": one.startup}
    if one.speed not in NOTHING:
        low, _, above = one.speed.partition("@")
        service["speed"] = {
            "low": _share(low, "--speed"),
            "up_above": _share(above or "0.8", "--speed"),
        }
    client = {
        "copies": copies,
        "timeout": _time(one.timeout),
        "hedge": _time(one.hedge),
        "retries": _whole(one.retries, "--retries"),
        "backoff": one.backoff or "0",
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


def _time(text: str) -> str:
    return "" if text in NOTHING else text


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
    ends = count(least, "--scale", 10_000), count(most, "--scale", 10_000)
    if ends[0] > ends[1]:
        raise SpecFault(f"'{text}' ends before it begins", at="--scale", fix="write 1..8")
    return ends
