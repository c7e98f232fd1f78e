"""The highest load within a target, from one client and from 2, 4 or 8: one answer.

Usage: sudo python bench/hosts/border.py [--times 10]   (needs Ray, root, namespaces)

Server and lab are in one network namespace, each client in another, all on this machine. In turn
one client or several search for the highest load of a synthetic service with 0.5 ms of work at a
time, of which the truth is known. A time is right if both intervals hold one load, and the answer
of several lies within the interval of one. Rows are stored in `bench/runs`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn.hosts import cluster_testing
from sojourn.hosts.cluster_testing import Cluster

RUNS = Path(__file__).parents[1] / "runs"
COUNTS = (2, 4, 8)
SERVICE_S, BOUND_S, Q = 0.5e-3, 20e-3, 0.99
#: p99 of the time in an M/M/1 is S ln 100 / (1 - load), so this is the highest load within it.
TRUTH_RPS = (1 - SERVICE_S * -math.log(1 - Q) / BOUND_S) / SERVICE_S
STUDY = """
name = "border"
question = "Is the answer of several clients that of one?"
probe = "0"
aa = false
seed = {seed}
[hosts]
at = "{at}"
clients = [{clients}]
address = "{address}"
[run]
profile = "quick"
[run.search]
budget_s = 60
[[services]]
kind = "synthetic"
measure = ["max_load"]
params = {{ service = "exponential:500us", mode = "sleep" }}
load = {{ connections = 64, wait = "sleep" }}
[services.qos]
q = 0.99
bound = "20ms"
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--times", type=int, default=10, help="pairs of searches (10)")
    asked = parser.parse_args()
    if lack := cluster_testing.lack():
        print(f"needs {lack}", file=sys.stderr)
        return 2
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-hosts-border.json"
    rows: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="sjb-") as folder,
        cluster_testing.cluster(Path(folder), max(COUNTS)) as made,
    ):
        for nth in range(asked.times):
            pair = (1, COUNTS[nth % len(COUNTS)])
            results = {
                n: searched(made, Path(folder), n, nth) for n in pair[:: 1 if nth % 2 == 0 else -1]
            }
            rows.append({"clients": pair[1], "one": results[1], "several": results[pair[1]]})
            rows[-1]["is_right"] = agree(results[1], results[pair[1]])
            print(rows[-1], flush=True)
            table = {"kernel": os.uname().release, "truth_rps": TRUTH_RPS, "rows": rows}
            path.write_text(json.dumps(table, indent=1))
    right = sum(row["is_right"] for row in rows)
    print(f"{right} of {len(rows)} right; truth {TRUTH_RPS:.0f}/s; rows are in {path.name}")
    return 0 if right == len(rows) else 1


def agree(one: dict[str, Any], several: dict[str, Any]) -> bool:
    """Whether the answer of several lies within the interval of one."""
    if one["rps"] is None or several["rps"] is None:
        return False
    low, high = one["interval_rps"]
    return bool((low or 0.0) <= several["rps"] <= (high or math.inf))


def searched(made: Cluster, folder: Path, count: int, nth: int) -> dict[str, Any]:
    """Search once with so many clients; the highest load and its interval, requests/s."""
    clients = ", ".join(f'"{host.address}"' for host in made.hosts[1 : count + 1])
    study = folder / f"border-{nth}-{count}.toml"
    about = {"at": made.at, "clients": clients, "address": made.head.address}
    study.write_text(STUDY.format(seed=1000 * count + nth + 1, **about))
    results = folder / f"results-{study.stem}"
    words = [sys.executable, "-m", "sojourn", "run", str(study), "--results", str(results)]
    done = made.run([*words, "--force"], 900.0)
    records = list(results.rglob("complete.json"))
    if not records:
        raise RuntimeError(done.stderr[-2000:])
    shown = made.run([*words[:3], "show", str(records[0].parent), "--json"], 60.0)
    border = json.loads(shown.stdout)["services"][0]["max_load"]["border"]
    ends = border["interval_rps"]
    return {
        "rps": border["estimate_rps"],
        "interval_rps": [ends["lo"], ends["hi"]],
        "code": done.returncode,
    }


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.TimeoutExpired:
        sys.exit("a study did not end within 15 minutes")
