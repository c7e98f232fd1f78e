"""Public load tools at a rate, and what each prints of its own p99 and p99.9."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
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
        match = re.search(pattern, text, re.MULTILINE)
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


def wrk2(url: str, rate: int, seconds: int) -> list[str]:
    return [program("wrk2"), "-t1", "-c20", f"-R{rate}", f"-d{seconds}s", "--latency", url]


def fortio(url: str, rate: int, seconds: int) -> list[str]:
    words = f"load -quiet -c 20 -qps {rate} -t {seconds}s -p 99".split()
    return [program("fortio"), *words, url]


def of_fortio(text: str) -> float | None:
    """Times of calls, not those of sleep and of errors beside them."""
    calls = text.partition("Aggregated Function Time")[2].partition("Error cases")[0]
    match = re.search(r"^# target 99% ([\d.e-]+)", calls, re.MULTILINE)
    return float(match[1]) * 1e3 if match else None


SCRIPT = """\
import http from 'k6/http';
export const options = {{ summaryTrendStats: ['p(99)'], scenarios: {{ load: {{
  executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '1s', duration: '{seconds}s',
  preAllocatedVUs: 20, maxVUs: 20,
}} }} }};
export default function () {{ http.get('{url}'); }}
"""


def k6(url: str, rate: int, seconds: int) -> list[str]:
    """Its script is a file of its own for as long as the bench runs."""
    script = Path(SCRIPTS.name) / f"{rate}-{seconds}.js"
    script.write_text(SCRIPT.format(url=url, rate=rate, seconds=seconds))
    return [program("k6"), "run", "--quiet", "--no-usage-report", str(script)]


SCRIPTS = tempfile.TemporaryDirectory(prefix="sojourn-k6-")
TOOLS = (
    Tool("hey", hey, of_hey),
    Tool("vegeta", vegeta, of_vegeta),
    Tool("bombardier", bombardier, matched(rf"99% +{TIME}")),
    Tool("autocannon", autocannon, of_autocannon),
    Tool("wrk2", wrk2, matched(rf"^ +99.000% +{TIME}")),
    Tool("fortio", fortio, of_fortio),
    Tool("k6", k6, matched(rf"http_req_duration.*p\(99\)={TIME}")),
    Tool("wrk", wrk, matched(rf"99% +{TIME}"), has_rate=False),
)
