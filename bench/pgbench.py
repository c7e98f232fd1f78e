"""CPU time per request of sojourn-load and `pgbench -R`, interleaved, on one PostgreSQL of its own.

Usage: .venv/bin/python bench/pgbench.py [--rounds 8] [--seconds 4] [--rate 1000] [--connections 4]

Both draw exponential gaps and ask the same prepared SELECT of one row; requests are those that each
tool counts, CPU time is the kernel's for the whole process. Server on CPU 0, tool on CPU 1. This is
not part of `bench/run.py` because PostgreSQL's own count of requests comes up to a second late.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wire.endpoints import ITEMS, QUERY, started

from sojourn.places import Address
from sojourn.services import cluster, postgres

SERVER_CPU, CLIENT_CPU = 0, "1"


def ours(
    wait: str, asked: argparse.Namespace, address: Address, scratch: Path
) -> tuple[int, float]:
    """Requests and p99, µs, of one run of the generator."""
    words = ["sojourn-load", f"postgres://{cluster.USER}@{address}/{cluster.DATABASE}",
             "--query", QUERY.format("1 + {}"), "--items", str(ITEMS), "--wait", wait,
             "--rate", str(asked.rate), "--connections", str(asked.connections),
             "--duration", f"{asked.seconds}s", "--warmup", "100ms", "--cpus", CLIENT_CPU,
             "--json", str(scratch / "ours.json")]  # fmt: skip
    subprocess.run(words, check=False, capture_output=True)
    result = json.loads((scratch / "ours.json").read_text())
    return result["replies"]["rows"], (result["sojourn_all_ns"]["p99"] or float("inf")) / 1e3


def theirs(asked: argparse.Namespace, address: Address, scratch: Path) -> tuple[int, float]:
    """Transactions of one run of pgbench; its quantiles are not in its summary."""
    script = scratch / "select.sql"
    script.write_text(f"\\set n random(1, {ITEMS})\n{QUERY.format(':n')};\n")
    bins = postgres.found().program("pgbench")
    words = ["taskset", "-c", CLIENT_CPU, str(bins), "-n", "-M", "prepared", "-j", "1",
             "-f", str(script), "-R", str(asked.rate), "-c", str(asked.connections),
             "-T", str(asked.seconds), "-h", address.host, "-p", str(address.port),
             "-U", cluster.USER, cluster.DATABASE]  # fmt: skip
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = re.search(r"actually processed: (\d+)", said)
    return int(found[1]) if found else 0, float("nan")


def cpu_s() -> float:
    """CPU time of all children that ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(asked: argparse.Namespace, address: Address, scratch: Path) -> list[dict[str, Any]]:
    tools: dict[str, Callable[[], tuple[int, float]]] = {
        "sojourn-load sleep": lambda: ours("sleep", asked, address, scratch),
        "sojourn-load sleep:250us": lambda: ours("sleep:250us", asked, address, scratch),
        "pgbench": lambda: theirs(asked, address, scratch),
    }
    rows = []
    order = random.Random(1)  # noqa: S311 - an order, no secret
    for number in range(asked.rounds):
        for name in order.sample(sorted(tools), len(tools)):
            before = cpu_s()
            requests, p99_us = tools[name]()
            each_us = (cpu_s() - before) * 1e6 / max(requests, 1)
            row = {"round": number, "tool": name, "rate": asked.rate, "requests": requests}
            row |= {"cpu_us_per_request": round(each_us, 2), "p99_us": round(p99_us, 1)}
            rows.append(row)
            print(rows[-1], file=sys.stderr)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name, default in (("rounds", 8), ("seconds", 4), ("rate", 1000), ("connections", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--keep", type=Path, help="folder for the raw rows")
    asked = parser.parse_args()
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with (
        started("postgres", SERVER_CPU) as endpoint,
        tempfile.TemporaryDirectory(prefix="sojourn-bench-") as scratch,
    ):
        rows = compare(asked, Address("127.0.0.1", endpoint.port), Path(scratch))
    show(rows, asked.keep)
    return 0


def show(rows: list[dict[str, Any]], keep: Path | None) -> None:
    """Medians of CPU time, and the raw rows."""
    for tool in sorted({row["tool"] for row in rows}):
        each = [row["cpu_us_per_request"] for row in rows if row["tool"] == tool]
        print(f"{tool}: {statistics.median(each):.1f} µs CPU per request, median of {len(each)}")
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        with (keep / "raw.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
