"""Compare the generator with its peers: interleaved in one run, as ratios, raw rows kept.

Usage: make bench, or  .venv/bin/python bench/run.py [--rounds 8] [--seconds 4] [--only peak]

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


TRIES = 2  # rounds that are run at most, over those that were asked for


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
    parser.add_argument(
        "--rounds", type=int, default=8, help="undisturbed runs of each tool and case (8)"
    )
    parser.add_argument("--seconds", type=int, default=4, help="length of a run, s (4)")
    parser.add_argument(
        "--only", default="", help="cases whose name holds this, such as memcache/peak"
    )
    return parser.parse_args()


def collect(cases: list[Case], here: list[Peer], asked: argparse.Namespace) -> list[Row]:
    """All rows; in each round every tool runs once, in random order, on the same server process.

    A round in which others used the CPUs is kept, does not count, and is run again.
    """
    rows: list[Row] = []
    order = random.Random(1)  # noqa: S311 - an order, no secret
    for case in cases:
        taking_part = [peer for peer in here if peer.takes(case)]
        with started(case.protocol, cpu=SERVER_CPU) as server:
            clean = 0
            for number in range(asked.rounds * TRIES):
                if clean == asked.rounds:
                    break
                turn = order.sample(taking_part, len(taking_part))
                ran = [row for peer in turn for row in attempt(case, peer, server, asked, number)]
                clean += not any(row.is_disturbed for row in ran)
                rows += ran
    return rows


def attempt(
    case: Case, peer: Peer, server: tuple[int, int], asked: argparse.Namespace, number: int
) -> list[Row]:
    try:
        row = measure(case, peer, server, asked.seconds, number)
    except (RuntimeError, ValueError, KeyError, IndexError, StopIteration, OSError) as error:
        print(f"  {case.name} {peer.name}: no reading: {error}", file=sys.stderr)
        return []
    print(f"  {row.case} {row.peer}: {row.rps:.0f} rps, {row.cpu_us_per_request:.2f} µs CPU, "
          f"p99 {row.p99_us} µs, server {row.server_busy:.0%}, others {row.foreign_share:.1%}, "
          f"steal {row.steal_share:.1%} {'DISTURBED' if row.is_disturbed else ''} "
          f"{row.verdict[:60]}", file=sys.stderr)  # fmt: skip
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
