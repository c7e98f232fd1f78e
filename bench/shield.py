"""What the shield changes: p99 and p99.9 at half load, with and without it, in turn.

Usage: .venv/bin/python bench/shield.py [--rounds 10] [--seconds 2.5]

One process of each server serves all rounds, so that nothing but the shield differs between two
runs of a pair: its threads are given real-time priority, or have it taken away again, before each
run. Which of the two comes first changes from round to round. The peak is found first (closed loop,
shielded); all rounds run at half of it. `wait` is the run-queue delay of the server's threads:
time in which they could have run and others did. Needs root; the raw rows are kept.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from servers import started

from sojourn import host
from sojourn.knobs import priority
from sojourn.knobs.priority import Rank
from sojourn.places import proc
from sojourn.text import schedstat

SERVERS = {"memcached": "memcache", "nginx": "http"}
LOAD = Path(sys.executable).parent / "sojourn-load"
QUANTILES = {"p99": "p99_us", "p999": "p99.9_us", "max": "longest_us"}
SHIELDED, ORDINARY = "shielded", "unshielded"
ORDINARY_RANK = Rank(policy=os.SCHED_OTHER, priority=0)


def main() -> int:
    asked = arguments()
    where = host.place(host.read(sample_s=0).topology, threads=1)
    server, client = where.server[0], where.client[0]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="sojourn-shield-") as name:
        for kind, protocol in SERVERS.items():
            with started(protocol, cpu=server) as (pid, port):
                url, out = target(protocol, port), Path(name) / "load.json"
                bench = Bench(kind, pid, url, client, out, is_first=asked.client_first)
                rows += bench.rounds(asked.rounds, asked.seconds)
    print(table(rows))
    print(f"kept in {keep(rows)}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10, help="pairs of runs (10)")
    parser.add_argument("--seconds", type=float, default=2.5, help="length of a run, s (2.5)")
    parser.add_argument(
        "--client-first",
        action="store_true",
        help="real-time priority for the generator too, in both runs of a pair:\n"
        "for a machine on which others work meanwhile",
    )
    return parser.parse_args()


def target(protocol: str, port: int) -> str:
    return f"{protocol}://127.0.0.1:{port}" + ("/4k" if protocol == "http" else "")


class Bench:
    """One server, and the generator on its own CPU."""

    def __init__(
        self, kind: str, pid: int, url: str, client: int, out: Path, *, is_first: bool
    ) -> None:
        self.kind, self.pid, self.url, self.client, self.out = kind, pid, url, client, out
        self.is_first = is_first

    def rounds(self, count: int, seconds: float) -> list[dict[str, Any]]:
        if self.kind == "memcached":
            self.load("--preload", "--rate", "1000", "--duration", "100ms")
        self.shield(is_on=True)  # what others take of the CPU is not the service's peak
        self.load("--find-max", "--duration", "1s")  # warm
        peak = self.load("--find-max", "--duration", "2s")["achieved_rps"]
        print(f"{self.kind}: peak {peak:,.0f}/s, rounds at {peak / 2:,.0f}/s", flush=True)
        rows = []
        for number in range(count):
            pair = (SHIELDED, ORDINARY) if number % 2 == 0 else (ORDINARY, SHIELDED)
            for which in pair:
                rows.append(self.run(number, which, peak / 2, seconds))
                print(row_text(rows[-1]), flush=True)
        return rows

    def run(self, number: int, which: str, rate: float, seconds: float) -> dict[str, Any]:
        self.shield(is_on=which == SHIELDED)
        waited = self.wait_ns()
        result = self.load("--rate", f"{rate:.0f}", "--duration", f"{seconds}s", "--warmup", "0.5s")
        waited = self.wait_ns() - waited
        held = not priority.without(self.pid)
        if held != (which == SHIELDED):
            raise RuntimeError(f"{which}, but read back after the run: shielded is {held}")
        span, outages = result["sojourn_ns"], result["outages"]
        return {
            "server": self.kind,
            "round": number,
            "shield": which,
            **{name: in_us(span[q]) for q, name in QUANTILES.items()},
            "rate_rps": round(rate),
            "requests": span["count"],
            "lost": span["lost"],
            "wait_ms": round(waited / 1e6, 2),
            "send_lag_p99_us": in_us(result["send_lag_ns"]["p99"]),
            "excluded_share": round(outages["share_excluded"], 4),
            "verdict": result["verdict"],
        }

    def shield(self, *, is_on: bool) -> None:
        if is_on:
            priority.give(self.pid)
        else:
            priority.take([(task, ORDINARY_RANK) for task in proc.tasks(self.pid)])

    def wait_ns(self) -> int:
        files = (Path(schedstat.path(t.pid, t.tid)) for t in proc.tasks(self.pid))
        results = (schedstat.parse(file.read_text()) for file in files)
        return sum(one.waited_ns for one in results if one)

    def load(self, *words: str) -> dict[str, Any]:
        line = [LOAD, self.url, *words, "--connections", "32", "--wait", "spin"]
        line += ["--items", "1000"] if self.kind == "memcached" else []
        line += ["--cpus", str(self.client), "--json", self.out]
        self.out.unlink(missing_ok=True)
        rank = ["chrt", "-r", "1"] if self.is_first else ["nice", "-n", "-20"]
        pinned = [*rank, "taskset", "-c", str(self.client), *map(str, line)]
        quiet = subprocess.DEVNULL
        subprocess.run(pinned, stdout=quiet, stderr=quiet, timeout=60, check=False)
        return dict(json.loads(self.out.read_text()))


def in_us(ns: float | None) -> float:
    """None, where requests were lost, is infinite."""
    return float("inf") if ns is None else round(ns / 1e3, 1)


def in_json(value: Any) -> Any:
    """JSON has no infinity: null."""
    return None if value == math.inf else value


def row_text(row: dict[str, Any]) -> str:
    return (
        f"  {row['round']:2} {row['shield']:11} p99 {row['p99_us']:8.1f} µs, p99.9 "
        f"{row['p99.9_us']:8.1f} µs, longest {row['longest_us']:8.0f} µs, wait "
        f"{row['wait_ms']:6.1f} ms, send lag {row['send_lag_p99_us']:6.1f} µs, "
        f"{row['excluded_share']:4.0%} excluded, {row['verdict']}"
    )


def table(rows: list[dict[str, Any]]) -> str:
    """Per server and quantile: least, median and most of both, and in how many pairs it is less."""
    head = f"{'server':11}{'':10}{SHIELDED:>28}{ORDINARY:>28}{'ratio':>8}{'less in':>10}"
    lines = [head + "   (µs: median, least–most; ratio: median over the pairs)"]
    for server in dict.fromkeys(row["server"] for row in rows):
        for name in QUANTILES.values():
            own = [row for row in rows if row["server"] == server]
            both = {
                which: {row["round"]: row[name] for row in own if row["shield"] == which}
                for which in (SHIELDED, ORDINARY)
            }
            known = [n for n, value in both[SHIELDED].items() if math.isfinite(value)]
            ratios = [both[ORDINARY][n] / both[SHIELDED][n] for n in known]
            cells = "".join(f"{spread(list(one.values())):>28}" for one in both.values())
            less = f"{sum(ratio > 1 for ratio in ratios)} of {len(both[SHIELDED])}"
            label = name.removesuffix("_us")
            ratio = statistics.median(ratios or [math.nan])
            lines.append(f"{server:11}{label:10}{cells}{ratio:8.2f}{less:>10}")
    return "\n".join(lines)


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.0f} ({min(values):.0f}–{max(values):.0f})"


def keep(rows: list[dict[str, Any]]) -> Path:
    folder = Path(__file__).parent / "runs"
    folder.mkdir(exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-shield.json"
    plain = [{name: in_json(value) for name, value in row.items()} for row in rows]
    table = {"load_1min": os.getloadavg()[0], "rows": plain}
    path.write_text(json.dumps(table, indent=1, allow_nan=False) + "\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
