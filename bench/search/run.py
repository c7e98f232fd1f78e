"""Hold the search against queues of known truth: does its interval cover, and how wide is it?

Usage: .venv/bin/python bench/search/run.py [--searches 40] [--profile quick] [--only mm1]

Each search is the plan as it is, from the closed-loop peak to the last run, on a real queue whose
starts differ by 5 % of capacity. Nothing is measured on this machine but the plan's own CPU time.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from searches import Search, one

from sojourn.analysis.queue import QUEUES, Queue

RUNS = Path(__file__).with_name("runs")


def row(queue: Queue, results: list[Search]) -> str:
    """One line of the table."""
    closed = [f for f in results if f.lo > 0 and math.isfinite(f.hi)]
    ratio = [f.hi / f.lo for f in closed] or [math.inf]
    covers = statistics.mean(f.lo <= 1 <= f.hi for f in results)
    low = statistics.mean(f.hi < 1 for f in results)
    widest = sorted(ratio)[int(0.9 * len(ratio))]
    return (
        f"{queue.name:6}  {queue.border:.3f}  {len(closed) / len(results):8.2f}  {covers:6.2f}  "
        f"{low:9.2f}  {statistics.median(ratio):5.2f}  {widest:5.2f}  "
        f"{statistics.median(f.estimate for f in results):5.3f}  "
        f"{statistics.median(f.wall_s for f in results):5.0f}  "
        f"{statistics.median(f.measured_s for f in results):8.0f}  "
        f"{statistics.median(f.last_s for f in results):6.0f}  "
        f"{statistics.median(f.cpu_s for f in results):5.1f}"
    )


def main() -> int:
    """Run, print the table, keep the searches."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--searches", type=int, default=40, help="of each queue (40)")
    parser.add_argument("--seed", type=int, default=1, help="of the first search (1)")
    parser.add_argument("--profile", default="quick", help="quick, standard or full (quick)")
    parser.add_argument("--only", default="", help="name of one queue")
    parser.add_argument("--stopped", type=float, default=0.0, help="of the client's time (0)")
    parser.add_argument("--processes", type=int, default=2, help="at a time (2)")
    asked = parser.parse_args()
    print(
        "queue   border  answered  covers  hi < truth  hi/lo  (p90)   bias  wall s  measured  "
        "last s  CPU s"
    )
    selected: list[Search] = []
    with ProcessPoolExecutor(asked.processes) as pool:
        for queue in QUEUES:
            if asked.only and queue.name != asked.only:
                continue
            seeds = range(asked.seed, asked.seed + asked.searches)
            results = list(
                pool.map(one, [(queue.name, seed, asked.profile, asked.stopped) for seed in seeds])
            )
            print(row(queue, results), flush=True)
            selected += results
    RUNS.mkdir(exist_ok=True)
    stopped = f"-stopped-{asked.stopped:g}" if asked.stopped else ""
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{asked.profile}{stopped}.json"
    path.write_text(json.dumps([asdict(result) for result in selected], indent=0) + "\n")
    print(f"kept in {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
