"""CPU time per request of sojourn-load and public tools over HTTPS, HTTP/2 and gRPC, interleaved.

Usage: bench/wire/setup && .venv/bin/python bench/wire_cost.py [--rounds 6] [--only grpc]

In each round every tool runs twice, in random order: for a short time and for a long one. What the
long run took more, over the requests that it made more, is the CPU time of a request; start-up,
handshakes and summary cancel out. CPU time is the kernel's for the tool and all its children;
requests are those that each tool says were answered. Server on CPU 0, tool on CPU 1. At a rate
every client sleeps; at the peak each keeps 16 connections busy, with 8 streams each over HTTP/2.
wrk and h2load know no open loop: h2load paces each connection, wrk is held against our peak only.
PostgreSQL has a bench of its own, `bench/pgbench.py`.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wire.endpoints import Endpoint, started
from wire.tools import TOOLS, Tool

SERVER_CPU, CLIENT_CPU = 0, 1
RATES = {"https": 5_000, "h2": 5_000, "grpc": 3_000}
SHORT_S, LONG_S = 1.0, 4.0
OURS = "sojourn-load"


def main() -> int:
    asked = arguments()
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    absent = [tool.name for tool in TOOLS if shutil.which(tool.program) is None]
    print(f"not here: {', '.join(absent) or 'none'}; bench/wire/setup installs them")
    rows: list[dict[str, Any]] = []
    for protocol in (name for name in RATES if asked.only in name):
        with started(protocol, SERVER_CPU) as endpoint:
            for rate in (RATES[protocol], None):
                rows += compared(protocol, endpoint, rate, asked.rounds)
    text = "\n".join(shown(rows))
    print(text)
    folder = Path(__file__).parent / "runs" / f"{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}-wire"
    folder.mkdir(parents=True)
    (folder / "summary.txt").write_text(text + "\n")
    with (folder / "raw.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    print(f"kept in {folder}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=6, help="rounds of each case (6)")
    parser.add_argument("--only", default="", help="protocols whose name holds this")
    return parser.parse_args()


def compared(
    protocol: str, endpoint: Endpoint, rate: int | None, rounds: int
) -> list[dict[str, Any]]:
    """Rows of one case: every tool that can take part, in each round."""
    part = [
        tool for tool in TOOLS
        if protocol in tool.protocols and shutil.which(tool.program)
        and (tool.has_peak if rate is None else tool.has_rate)
    ]  # fmt: skip
    order = random.Random(1)  # noqa: S311 - an order, no secret
    rows = []
    for number in range(rounds):
        for tool in order.sample(part, len(part)):
            short, long = (ran(tool, endpoint, rate, seconds) for seconds in (SHORT_S, LONG_S))
            more = long[1] - short[1]
            each = (long[0] - short[0]) * 1e6 / more if more > 0 else float("nan")
            rows.append({
                "case": f"{protocol}/{rate or 'peak'}", "round": number, "tool": tool.name,
                "cpu_us_per_request": round(each, 3), "requests": more,
                "rps": round(more / (LONG_S - SHORT_S)),
            })  # fmt: skip
            print(rows[-1], file=sys.stderr)
    return rows


def ran(tool: Tool, endpoint: Endpoint, rate: int | None, seconds: float) -> tuple[float, int]:
    """CPU time, s, and requests of one run."""
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name:
        words = tool.command(endpoint, rate, seconds, Path(name))
        before = cpu_s()
        done = subprocess.run(
            ["taskset", "-c", str(CLIENT_CPU), *words], check=False, capture_output=True,
            text=True, timeout=60,
        )  # fmt: skip
        return cpu_s() - before, tool.requests(done.stdout, Path(name))


def cpu_s() -> float:
    """CPU time of all children that ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def shown(rows: list[dict[str, Any]]) -> list[str]:
    """A line for each tool, and ours over each other one, by round: least, median, most."""
    lines = []
    for case in dict.fromkeys(row["case"] for row in rows):
        mine = [row for row in rows if row["case"] == case]
        by_tool = {
            name: {row["round"]: row["cpu_us_per_request"] for row in mine if row["tool"] == name}
            for name in dict.fromkeys(row["tool"] for row in mine)
        }
        for name, each in sorted(by_tool.items()):
            rps = statistics.median(row["rps"] for row in mine if row["tool"] == name)
            line = f"{case:11} {name:20} {statistics.median(each.values()):7.2f} µs CPU a request"
            lines.append(f"{line}, {rps:,.0f} requests/s")
        for ours in (name for name in by_tool if name.startswith(OURS)):
            for other in (name for name in by_tool if not name.startswith(OURS)):
                ratios = sorted(by_tool[ours][n] / by_tool[other][n] for n in by_tool[ours])
                low, middle, high = ratios[0], statistics.median(ratios), ratios[-1]
                lines.append(f"{case:11} {ours} / {other}: {middle:.2f} ({low:.2f} to {high:.2f})")
    return lines


if __name__ == "__main__":
    sys.exit(main())
