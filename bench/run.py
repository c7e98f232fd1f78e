"""Compare the generator with its peers: interleaved in one run, as ratios, raw rows kept.

Usage: make bench, or  .venv/bin/python bench/run.py [--rounds 5] [--seconds 4] [--only peak]

Peers are taken from PATH when they are there: cachecannon, mutilate, memtier_benchmark, wrk,
redis-benchmark, mc-crusher. The server has CPU 0, the tool CPU 1.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import os
import platform
import random
import sys
from datetime import UTC, datetime
from pathlib import Path

from measure import CLIENT_CPU, SERVER_CPU, Row, measure
from peers import KINDS, Case, Peer
from servers import started
from summary import show

CASES = (
    *(Case("memcache", n, None, "auto") for n in (16, 64)),
    *(Case("memcache", 16, rate, wait) for rate in (20_000, 50_000) for wait in ("spin", "sleep")),
    *(Case("resp", n, None, "auto") for n in (16, 64)),
    *(Case("http", n, None, "auto") for n in (16, 64)),
)


def main() -> int:
    asked = arguments()
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    if len(os.sched_getaffinity(0)) <= CLIENT_CPU:
        print(
            "error: one CPU only\n  at: this machine\n  fix: the comparison needs two",
            file=sys.stderr,
        )
        return 2
    here = [peer for peer in KINDS if peer.is_here()]
    cases = [case for case in CASES if asked.only in case.name]
    absent = ", ".join(peer.name for peer in KINDS if not peer.is_here())
    print(f"tools: {', '.join(peer.name for peer in here)}; not in PATH: {absent or 'none'}")
    rows = collect(cases, here, asked)
    blind = {peer.name for peer in KINDS if not peer.measures_latency}
    text = show(rows, blind)
    print(text)
    print(f"\nkept in {keep(rows, text)}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="runs of each tool and case (5)")
    parser.add_argument("--seconds", type=int, default=4, help="length of a run, s (4)")
    parser.add_argument(
        "--only", default="", help="cases whose name holds this, such as memcache/peak"
    )
    return parser.parse_args()


def collect(cases: list[Case], here: list[Peer], asked: argparse.Namespace) -> list[Row]:
    """All rows; in each round every tool runs once, in random order, on the same server process."""
    rows: list[Row] = []
    order = random.Random(1)  # noqa: S311 - an order, no secret
    for case in cases:
        taking_part = [peer for peer in here if peer.takes(case)]
        with started(case.protocol, cpu=SERVER_CPU) as (_, port):
            for number in range(asked.rounds):
                for peer in order.sample(taking_part, len(taking_part)):
                    rows += attempt(case, peer, port, asked.seconds, number)
    return rows


def attempt(case: Case, peer: Peer, port: int, seconds: int, number: int) -> list[Row]:
    try:
        row = measure(case, peer, port, seconds, number)
    except (RuntimeError, ValueError, KeyError, IndexError, StopIteration, OSError) as error:
        print(f"  {case.name} {peer.name}: no reading: {error}", file=sys.stderr)
        return []
    print(f"  {row.case} {row.peer}: {row.rps:.0f} rps, {row.cpu_us_per_request:.2f} µs CPU, "
          f"p99 {row.p99_us} µs, steal {row.steal_share:.1%}", file=sys.stderr)  # fmt: skip
    return [row]


def keep(rows: list[Row], text: str) -> Path:
    """Raw rows, summary and machine under bench/runs/<date>-<machine>/."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    folder = Path(__file__).parent / "runs" / f"{stamp}-{os.cpu_count()}cpu"
    folder.mkdir(parents=True)
    with (folder / "raw.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in dataclasses.fields(Row)])
        writer.writeheader()
        writer.writerows(dataclasses.asdict(row) for row in rows)
    (folder / "summary.txt").write_text(text + "\n")
    (folder / "README.md").write_text(
        f"# Comparison of load generators\n\n`make bench`, {stamp}, Linux {platform.release()}, "
        f"{os.cpu_count()} CPUs, {cpu_model()}.\nServer on CPU 0, tool on CPU 1 with nice "
        "-15. CPU time: the kernel's for the whole process, over the requests that the server "
        "counted, both only while the load ran.\n"
    )
    return folder


def cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")


if __name__ == "__main__":
    sys.exit(main())
