"""The tracer as window source beside the windows of the client.

Usage: sudo .venv/bin/python bench/managers/tracer.py [--rounds 3] [--seconds 10] [--rate 10k]

One memcached on one CPU, the load on another. A manager with the rule `null` takes its windows
from the tracer alone, at a cost of 2 % and of every request in turn. Printed are the median over
windows of p99 of either side, requests a second, and how often windows came. Rows are stored in
`bench/runs`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn.manage import testing
from sojourn.manage.traced_testing import p99_ns, rps, seen

RUNS = Path(__file__).parents[1] / "runs"
COSTS = ("2%", "all")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--seconds", type=int, default=10, help="length of a run, s (10)")
    parser.add_argument("--rate", default="10k", help="requests a second (10k)")
    asked = parser.parse_args()
    if lack := testing.lack():
        print(f"needs {lack}", file=sys.stderr)
        return 2
    rows: list[dict[str, Any]] = []
    for number in range(asked.rounds):
        for cost in COSTS:
            rows.append({"round": number, "cost": cost, **measured(cost, asked)})
            print(json.dumps(rows[-1]), flush=True)
    for cost in COSTS:
        ratios = [
            row["client_p99_us"] / row["tracer_p99_us"] for row in rows if row["cost"] == cost
        ]
        print(f"{cost}: the client's p99 is {statistics.median(ratios):.2f} times the server's")
    about = {"kernel": os.uname().release, "load": os.getloadavg()[0], "rate": asked.rate}
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-tracer.json"
    path.write_text(json.dumps({**about, "seconds": asked.seconds, "rows": rows}, indent=1))
    print(f"rows: {path.name}")
    return 0


def measured(cost: str, asked: argparse.Namespace) -> dict[str, Any]:
    """One run."""
    with tempfile.TemporaryDirectory() as folder:
        sides = seen(Path(folder), cost=cost, rate=asked.rate, seconds=asked.seconds)
    return {
        "client_p99_us": p99_ns(sides.client) / 1000,
        "tracer_p99_us": p99_ns(sides.tracer) / 1000,
        "client_rps": rps(sides.client),
        "tracer_rps": rps(sides.tracer),
        "windows": len(sides.tracer),
        "requests_in_windows": sum(one["n"] for one in sides.tracer),
    }


if __name__ == "__main__":
    sys.exit(main())
