"""Public load tools at a rate, and what each prints of its own p99 and p99.9."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

UNITS_MS = {"us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3, "m": 60e3}
TIME = r"([\d.]+)(us|µs|ms|s|m)\b"


def ms(number: str, unit: str) -> float:
    return float(number) * UNITS_MS[unit]


@dataclass(frozen=True, slots=True)
class Tool:
    """A public tool.

    Attributes:
        name: of it.
        argv: of url, rate (requests/s) and time (s).
        own_p99: from what it prints, ms; None if it prints none.
        has_rate: whether it has a rate at all.
    """

    name: str
    argv: Callable[[str, int, int], list[str]]
    own_p99: Callable[[str], float | None]
    has_rate: bool = True


def program(name: str) -> str:
    """Where a tool is: in folders of TOOLS, then on PATH."""
    for folder in filter(None, os.environ.get("TOOLS", "").split(":")):
        if (Path(folder) / name).exists():
            return str(Path(folder) / name)
    return shutil.which(name) or name


def matched(pattern: str) -> Callable[[str], float | None]:
    def read(text: str) -> float | None:
        match = re.search(pattern, text)
        return ms(match[1], match[2]) if match else None

    return read


def hey(url: str, rate: int, seconds: int) -> list[str]:
    workers = 20
    each = str(max(1, rate // workers))
    return [program("hey"), "-z", f"{seconds}s", "-q", each, "-c", str(workers), url]


def of_hey(text: str) -> float | None:
    match = re.search(r"99%+ in ([\d.]+) secs", text)
    return float(match[1]) * 1e3 if match else None


def vegeta(url: str, rate: int, seconds: int) -> list[str]:
    attack = f"{program('vegeta')} attack -rate={rate} -duration={seconds}s"
    return ["sh", "-c", f"echo 'GET {url}' | {attack} | {program('vegeta')} report"]


def of_vegeta(text: str) -> float | None:
    match = re.search(r"Latencies .*?\] +(.*)", text)
    each = match[1].split(", ") if match else []
    found = re.fullmatch(TIME, each[5]) if len(each) > 5 else None
    return ms(found[1], found[2]) if found else None


def bombardier(url: str, rate: int, seconds: int) -> list[str]:
    words = f"-c 20 -r {rate} -d {seconds}s -l".split()
    return [program("bombardier"), *words, url]


def autocannon(url: str, rate: int, seconds: int) -> list[str]:
    words = f"-n -j -c 20 -R {rate} -d {seconds}".split()
    return ["node", program("autocannon"), *words, url]


def of_autocannon(text: str) -> float | None:
    lines = [line for line in text.splitlines() if line.startswith("{")]
    return float(json.loads(lines[-1])["latency"]["p99"]) if lines else None


def wrk(url: str, rate: int, seconds: int) -> list[str]:
    del rate
    return [program("wrk"), "-t1", "-c20", f"-d{seconds}s", "--latency", url]


TOOLS = (
    Tool("hey", hey, of_hey),
    Tool("vegeta", vegeta, of_vegeta),
    Tool("bombardier", bombardier, matched(rf"99% +{TIME}")),
    Tool("autocannon", autocannon, of_autocannon),
    Tool("wrk", wrk, matched(rf"99% +{TIME}"), has_rate=False),
)
