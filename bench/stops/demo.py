"""The demo beside planted stops of both CPUs: does it answer, and does it answer the same?

Usage: .venv/bin/python bench/stops/demo.py [--shares 0,0.01,0.03,0.06] [--results FOLDER]

`sojourn run latency_vs_load --profile quick` while a real-time task takes each CPU for a share of
the time (`hog.py`): the client's stops are excluded by the log, the server's make two readings. Of
each demo: how many runs gave numbers, how many loads have one, the answers and how long it took.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hog import planted

BIN = Path(os.environ.get("SOJOURN_BIN") or Path(sys.executable).parent)
RUNS = Path(__file__).parents[1] / "runs"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shares", default="0,0.01,0.03,0.06", help="of each CPU's time")
    parser.add_argument("--results", type=Path, help="where the records stay; none stay without it")
    asked, rows = parser.parse_args(), []
    for share in map(float, asked.shares.split(",")):
        cpus = sorted(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory(prefix="sojourn-demo-") as name, planted(cpus, share, 1):
            rows.append(demo(share, str(asked.results / f"{share}") if asked.results else name))
        print(words(rows[-1]), flush=True)
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-demo.json"
    path.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"kept in {path}")
    return 0


def demo(share: float, folder: str) -> dict[str, Any]:
    """One demo, and what its findings say."""
    began = time.monotonic()
    line = [
        BIN / "sojourn",
        "run",
        "latency_vs_load",
        "-p",
        "quick",
        "--force",
        "--results",
        folder,
    ]
    subprocess.run(line, check=False, capture_output=True, timeout=1200)
    wall_s = time.monotonic() - began
    line = [BIN / "sojourn", "show", "--results", folder, "--json"]
    table = json.loads(subprocess.run(line, check=False, capture_output=True, timeout=120).stdout)
    points = [point for service in table["services"] for point in service["points"]]
    runs = [run for point in points for run in point["runs"]]
    return {
        "share": share,
        "wall_s": round(wall_s),
        "state": {key: table["state"][key] for key in ("word", "done", "of")},
        "runs": len(runs),
        "runs_with_numbers": sum(run["is_believed"] for run in runs),
        "loads": len(points),
        "loads_with_numbers": sum(point["is_believed"] for point in points),
        "each": [
            [run["fraction"], run["excluded_share"], run["is_believed"], run["achieved_rps"]]
            for run in runs
        ],
        "void_for": Counter(
            run["reasons"][0].partition(":")[0] for run in runs if not run["is_believed"]
        ),
        "borders_rps": {
            service["service"]: {
                reading: interval(service["max_load"].get(reading))
                for reading in ("border", "undisturbed")
            }
            for service in table["services"]
            if service["max_load"]
        },
    }


def interval(border: dict[str, Any] | None) -> list[float] | None:
    """Lower end, estimate and upper end, requests/s; None: there is none."""
    if border is None:
        return None
    ends = border["interval_rps"]
    return [ends["lo"], border["estimate_rps"], ends["hi"]]


def words(one: dict[str, Any]) -> str:
    answers = "\n".join(f"    {name}: {result}" for name, result in one["borders_rps"].items())
    return (
        f"{one['share']:4.0%} of each CPU: {one['runs_with_numbers']} of {one['runs']} runs and "
        f"{one['loads_with_numbers']} of {one['loads']} loads have numbers, {one['wall_s']} s, "
        f"{one['state']}\n{answers}"
    )


if __name__ == "__main__":
    sys.exit(main())
