"""HTTP tools that people use: k6, vegeta, oha, hey, bombardier, autocannon, Locust, Gatling."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

from peers import Case, Reading
from peers.base import number, time_us

from wire.endpoints import BIN, Endpoint

PROTOCOLS = ("http", "https")
TIME = r"([\d.]+) ?(ns|µs|us|ms|s)"

K6 = """\
import http from 'k6/http';
export const options = {{
  insecureSkipTLSVerify: true,
  discardResponseBodies: true,
  summaryTrendStats: ['p(50)', 'p(99)'],
  scenarios: {{ load: {{
    executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '1s', duration: '{seconds}s',
    preAllocatedVUs: {connections}, maxVUs: {connections},
  }} }},
}};
export default function () {{ http.get('{url}'); }}
"""
LOCUST = """\
from locust import FastHttpUser, constant_throughput, task

class User(FastHttpUser):
    host = "{host}"
    insecure = True
    wait_time = constant_throughput({each})

    @task
    def get(self):
        self.client.get("/4k")
"""


def url(at: Endpoint, case: Case) -> str:
    return f"{case.protocol}://127.0.0.1:{at.port}/4k"


def program(name: str) -> str:
    """Where a tool is: beside those of `setup`, or on PATH."""
    return str(BIN / name) if (BIN / name).exists() else (shutil.which(name) or str(BIN / name))


def hey(at: Endpoint, case: Case, seconds: int, _scratch: Path) -> list[str]:
    each = f"{(case.rate_rps or 0) / case.connections:g}"
    paced = ["-q", each] if case.rate_rps else []
    many = ["-c", str(case.connections), "-z", f"{seconds}s"]
    return [program("hey"), *many, *paced, url(at, case)]


def of_hey(text: str, _scratch: Path) -> Reading:
    """What hey reports."""
    return Reading(
        number(r"Requests/sec:\s+([\d.]+)", text),
        number(r"^\s+50%+ in ([\d.]+) secs", text) * 1e6,
        number(r"^\s+99%+ in ([\d.]+) secs", text) * 1e6,
    )


def vegeta(at: Endpoint, case: Case, seconds: int, scratch: Path) -> list[str]:
    targets = scratch / "targets"
    targets.write_text(f"GET {url(at, case)}\n")
    many = [f"-connections={case.connections}", f"-max-workers={case.connections}"]
    paced = [f"-rate={case.rate_rps or 0}", f"-duration={seconds}s", "-insecure"]
    files = [f"-targets={targets}", f"-output={scratch / 'results'}"]
    return [program("vegeta"), "attack", *many, *paced, *files]


def of_vegeta(_text: str, scratch: Path) -> Reading:
    """What its report makes of the results, which is no part of the load."""
    words = [program("vegeta"), "report", "-type=json", str(scratch / "results")]
    report = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    times = report["latencies"]
    return Reading(report["rate"], times["50th"] / 1e3, times["99th"] / 1e3)


def oha(at: Endpoint, case: Case, seconds: int, _scratch: Path) -> list[str]:
    paced = ["-q", str(case.rate_rps)] if case.rate_rps else []
    many = ["-c", str(case.connections), "-z", f"{seconds}s", "--no-tui", "--insecure"]
    return [program("oha"), *many, *paced, "--output-format", "json", url(at, case)]


def of_oha(text: str, _scratch: Path) -> Reading:
    """What oha reports."""
    report = json.loads(text[text.index("{") :])
    times = report["latencyPercentiles"]
    return Reading(report["summary"]["requestsPerSec"], times["p50"] * 1e6, times["p99"] * 1e6)


def bombardier(at: Endpoint, case: Case, seconds: int, _scratch: Path) -> list[str]:
    paced = ["-r", str(case.rate_rps)] if case.rate_rps else []
    many = ["-c", str(case.connections), "-d", f"{seconds}s", "-l", "-k", "-p", "r"]
    return [program("bombardier"), *many, *paced, url(at, case)]


def of_bombardier(text: str, _scratch: Path) -> Reading:
    """What bombardier reports."""
    return Reading(
        number(r"Reqs/sec\s+([\d.]+)", text),
        time_us(rf"^\s+50%\s+{TIME}", text),
        time_us(rf"^\s+99%\s+{TIME}", text),
    )


def k6(at: Endpoint, case: Case, seconds: int, scratch: Path) -> list[str]:
    script = scratch / "load.js"
    facts = {"connections": case.connections, "seconds": seconds, "url": url(at, case)}
    script.write_text(K6.format(rate=case.rate_rps, **facts))
    summary = f"--summary-export={scratch / 'summary.json'}"
    return [program("k6"), "run", "--quiet", "--no-usage-report", summary, str(script)]


def of_k6(_text: str, scratch: Path) -> Reading:
    """What k6 writes of a run; its times are in ms."""
    metrics = json.loads((scratch / "summary.json").read_text())["metrics"]
    times = metrics["http_req_duration"]
    return Reading(metrics["http_reqs"]["rate"], times["p(50)"] * 1e3, times["p(99)"] * 1e3)


def autocannon(at: Endpoint, case: Case, seconds: int, _scratch: Path) -> list[str]:
    paced = ["-R", str(case.rate_rps)] if case.rate_rps else []
    many = ["-c", str(case.connections), "-d", str(seconds), "--json", "--no-progress"]
    return [program("autocannon"), *many, *paced, url(at, case)]


def of_autocannon(text: str, _scratch: Path) -> Reading:
    """What autocannon reports; its times are in ms."""
    report = json.loads(text[text.index("{") :])
    times = report["latency"]
    return Reading(report["requests"]["average"], times["p50"] * 1e3, times["p99"] * 1e3)


def locust(at: Endpoint, case: Case, seconds: int, scratch: Path) -> list[str]:
    script = scratch / "locustfile.py"
    host = f"{case.protocol}://127.0.0.1:{at.port}"
    each = (case.rate_rps or 0) / case.connections
    script.write_text(LOCUST.format(host=host, each=each))
    many = ["-u", str(case.connections), "-r", str(case.connections), "-t", f"{seconds}s"]
    return [program("locust"), "-f", str(script), "--headless", *many, "--json"]


def of_locust(text: str, _scratch: Path) -> Reading:
    """What Locust reports: times in ms, by how often each was seen."""
    (stats,) = json.loads(text[text.index("[\n") : text.rindex("]") + 1])
    counts = sorted((float(ms), n) for ms, n in stats["response_times"].items())
    span_s = stats["last_request_timestamp"] - stats["start_time"]
    half_us, tail_us = (quantile_us(counts, q) for q in (0.5, 0.99))
    return Reading(stats["num_requests"] / span_s, half_us, tail_us)


def gatling(at: Endpoint, case: Case, seconds: int, scratch: Path) -> list[str]:
    facts = {"url": url(at, case), "rate": case.rate_rps, "seconds": seconds}
    words = {**facts, "connections": case.connections}
    return [
        program("gatling"),
        *(f"-D{name}={value}" for name, value in words.items()),
        str(scratch),
    ]


def of_gatling(_text: str, scratch: Path) -> Reading:
    """What Gatling logs of each request: when it began and ended, ms."""
    (log,) = scratch.glob("load-*/simulation.log")
    lines = (line.split("\t") for line in log.read_text().splitlines())
    times = [(int(one[3]), int(one[4])) for one in lines if one[0] == "REQUEST" and one[5] == "OK"]
    span_s = (max(end for _, end in times) - min(begin for begin, _ in times)) / 1e3
    counts = sorted(Counter(float(end - begin) for begin, end in times).items())
    half_us, tail_us = (quantile_us(counts, q) for q in (0.5, 0.99))
    return Reading(len(times) / span_s, half_us, tail_us)


def quantile_us(counts: list[tuple[float, int]], q: float) -> float:
    """A quantile of times in ms with their counts, in rising order; µs."""
    rank, seen = q * sum(n for _, n in counts), 0
    for ms, n in counts:
        seen += n
        if seen >= rank:
            return ms * 1e3
    raise ValueError("no times")


GO = "go install {}"
#: name, what is asked for its version, command, reader, how it is installed, whether it has a peak
PEOPLE = (
    ("hey", ("-h",), hey, of_hey, GO.format("github.com/rakyll/hey@latest"), True),
    ("vegeta", ("-version",), vegeta, of_vegeta, GO.format("github.com/tsenart/vegeta/v12"), False),
    ("oha", ("--version",), oha, of_oha, "cargo install oha", True),
    (
        "bombardier",
        ("--version",),
        bombardier,
        of_bombardier,
        GO.format("github.com/codesenberg/bombardier@latest"),
        True,
    ),
    ("k6", ("version",), k6, of_k6, GO.format("go.k6.io/k6@latest"), False),
    ("autocannon", ("--version",), autocannon, of_autocannon, "npm install autocannon", True),
    ("locust", ("--version",), locust, of_locust, "pip install locust", False),
    ("gatling", ("--version",), gatling, of_gatling, "bench/wire/setup, with Maven", False),
)
