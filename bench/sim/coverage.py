"""How often the intervals of `sojourn-sim queue` hold the closed form, over 50 seeds.

Usage: .venv/bin/python bench/sim/coverage.py [--seeds 50] [--requests 16M] [--only M/M/1]

For each queue, load and number the table says in how many runs there was an interval, how many
held the closed form, and how wide they were over the width that the runs' own scatter asks for.
The rules are `sojourn.models.coverage`'s.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sojourn.models.coverage import NUMBERS, Coverage, accepted, covered

QUEUES = (
    ("M/M/1", "exponential:1", 1, (0.5, 0.8, 0.9, 0.95)),
    ("M/D/1", "fixed:1", 1, (0.9,)),
    ("M/M/4", "exponential:1", 4, (0.9,)),
)


def main() -> int:
    """Print the table; 1 if a row is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=50, help="runs of each queue (50)")
    parser.add_argument("--requests", default="16M", help="requests of each run (16M)")
    parser.add_argument("--only", default="", help="one queue, such as M/M/1")
    asked = parser.parse_args()
    rows: list[Coverage] = []
    low, high = accepted(asked.seeds)
    print(f"accepted: {low} to {high} of {asked.seeds} hits; {asked.requests} requests a run\n")
    print(f"{'queue':<7}{'load':>6}{'number':>8}{'known':>7}{'hits':>6}{'width':>7}  verdict")
    for name, service, servers, loads in QUEUES:
        for load in loads if asked.only in {"", name} else ():
            job = {"rate": repr(load * servers), "service": service, "servers": servers}
            result = runs({**job, "requests": asked.requests}, asked.seeds)
            for number in NUMBERS:
                row = covered(number, result)
                rows.append(row)
                print(
                    f"{name:<7}{load:>6}{row.number:>8}{row.known:>7}{row.hits:>6}"
                    f"{row.width:>7.2f}  {row.verdict}",
                    flush=True,
                )
    return int(any(row.verdict.startswith("WRONG") for row in rows))


def runs(job: dict[str, Any], seeds: int) -> list[dict[str, Any]]:
    """Results of all seeds; only what is compared is stored."""

    def one(seed: int) -> dict[str, Any]:
        process = subprocess.run(
            [program(), "queue", "--job", "-", "--json", "-"],
            input=json.dumps({**job, "seed": seed}),
            capture_output=True,
            text=True,
            check=False,
        )
        if not process.stdout:
            sys.exit(f"error: {process.stderr}\n  at: bench/sim/coverage.py")
        result = json.loads(process.stdout)
        return {"intervals": result["intervals"], "closed": result["closed"]}

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(one, range(1, seeds + 1)))


def program() -> str:
    return os.environ.get("SOJOURN_SIM", str(Path(sys.executable).with_name("sojourn-sim")))


if __name__ == "__main__":
    sys.exit(main())
