"""The same study on one host and on a cluster of one, and what that costs.

Usage: sudo python bench/hosts/same.py [--rounds 2] [--repeats 3]   (needs Ray, root, namespaces)

Server and lab are in one network namespace. In turn the client is on the same host, or by Ray on
one other node, in another namespace of this machine. Each way measures the same points of a
synthetic service. Compared are the medians of p50 and p99, and how long a point took beyond its
load. The client's way is longer over a cluster (a bridge instead of loopback), so its round trip is
printed. Rows are stored in `bench/runs`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sojourn.hosts import cluster_testing
from sojourn.hosts.cluster_testing import Cluster

RUNS = Path(__file__).parents[1] / "runs"
MEASURE_S, WARM_S = 4.0, 0.5
STUDY = """
name = "same"
question = "Is the cluster's answer that of one host?"
probe = "0"
aa = false
{hosts}
[run]
profile = "quick"
measure_s = {measure_s}
warmup_s = {warm_s}
repeats = {repeats}
fractions = []
rates = ["1000", "4000"]
retries = 0
[[services]]
kind = "synthetic"
measure = ["sweep"]
max_rps = "asked"
params = {{ service = "exponential:100us", mode = "sleep" }}
load = {{ connections = 16, wait = "sleep" }}
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    if lack := cluster_testing.lack():
        print(f"needs {lack}", file=sys.stderr)
        return 2
    rows: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="sjs-") as folder,
        cluster_testing.cluster(Path(folder), 1) as made,
    ):
        for nth in range(asked.rounds):
            for way in ("one host", "cluster of one")[:: 1 if nth % 2 == 0 else -1]:
                rows += measured(made, Path(folder), way, nth, asked.repeats)
    for way in ("one host", "cluster of one"):
        for rate in sorted({row["rate"] for row in rows}):
            own = [row for row in rows if (row["way"], row["rate"]) == (way, rate)]
            print(line(way, rate, own))
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-hosts-same.json"
    table = {"kernel": os.uname().release, "load": os.getloadavg()[0]}
    path.write_text(json.dumps({**table, "rows": rows}, indent=1))
    print(f"rows are in {path.name}")
    return 0


def line(way: str, rate: float, rows: list[dict[str, Any]]) -> str:
    """Medians of a way at a rate."""

    def median(key: str) -> str:
        known = [row[key] for row in rows if row[key] is not None]
        return f"{statistics.median(known):.4g}" if known else "unknown"

    sound = sum(row["verdict"] != "unknown" for row in rows)
    return (
        f"{way:>14}, {rate:g}/s: p50 {median('p50_us')} us, p99 {median('p99_us')} us, beyond the "
        f"load {median('beyond_s')} s, round trip {median('way_us')} us; {sound} of {len(rows)} "
        "points have a verdict"
    )


def measured(made: Cluster, folder: Path, way: str, nth: int, repeats: int) -> list[dict[str, Any]]:
    """Run the study once; a row for each point."""
    client = made.hosts[1].address
    hosts = f'[hosts]\nat = "{made.at}"\nclients = ["{client}"]\naddress = "{made.head.address}"'
    study = folder / f"{way.replace(' ', '-')}-{nth}.toml"
    about = {"measure_s": MEASURE_S, "warm_s": WARM_S, "repeats": repeats}
    study.write_text(STUDY.format(hosts=hosts if way == "cluster of one" else "", **about))
    results = folder / f"results-{study.stem}"
    words = [sys.executable, "-m", "sojourn", "run", str(study), "--results", str(results)]
    done = made.run([*words, "--force"], 900.0)
    if not list(results.rglob("complete.json")):
        raise RuntimeError(done.stderr[-2000:])
    return [row(at, way) for at in sorted(results.rglob("points/*/outcome.parquet"))]


def row(at: Path, way: str) -> dict[str, Any]:
    """What a point measured, and how long it took beyond its load."""
    outcome = pq.read_table(at).to_pylist()[0]
    load = json.loads((at.parent / "load.json").read_text())
    hosts = at.parent / "hosts.json"
    network = json.loads(hosts.read_text())["clients"][0]["network"] if hosts.exists() else None
    spans = load["sojourn_ns"]
    return {
        "way": way,
        "rate": float(load["job"]["rate"]),
        "p50_us": spans["p50"] and spans["p50"] / 1e3,
        "p99_us": spans["p99"] and spans["p99"] / 1e3,
        "beyond_s": outcome["wall_s"] - MEASURE_S - WARM_S,
        "way_us": network and network["p50_ns"] / 1e3,
        "verdict": outcome["verdict"],
        "reasons": outcome["reasons"],
    }


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.TimeoutExpired:
        sys.exit("a study did not end within 15 minutes")
