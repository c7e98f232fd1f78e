"""One load from 1, 2, 4 and 8 clients: one answer, and who is named.

Usage: .venv/bin/python bench/hosts/share.py [--times 5] [--slow 20] [--good 20] [--seconds 4]

The driver and the generators are real; hosts are planted (a fake): agents in threads of this
process, each with a clock of its own, all on this machine. A synthetic service answers.

    bins     the merged histogram against that of all raw requests of all clients, bin for bin,
             and p50, p95, p99 of several clients against those of one
    slow     one of three clients has a way that is longer (delay), or stops of its generator (hog),
             or a clock that is set on while load runs (late): it has to be named, or the point
             refused; in turn
    good     three clients alike: no one may be named

Rows are stored in `bench/runs`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from hdrh.histogram import HdrHistogram

from sojourn import disk, programs
from sojourn.actors.clients import hdr
from sojourn.errors import Fault
from sojourn.hosts.about import about
from sojourn.hosts.cluster_testing import generators
from sojourn.hosts.fleet import Fleet
from sojourn.hosts.testing import Cluster, Host, Notes
from sojourn.places import ports
from sojourn.run.clients import Load
from sojourn.run.generator_job import Files
from sojourn.samples.reading import not_one
from sojourn.spec.hosts import HostsSpec

RUNS = Path(__file__).parents[1] / "runs"
SPEC = HostsSpec(at="10.9.0.1:6379")
COUNTS, RATE, SECOND = (1, 2, 4, 8), 1600, 1_000_000_000
STOP_S, EVERY_S = 0.02, 0.1  # of a generator that a hog keeps from its CPU
KINDS = ("delay", "hog", "late")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--times", type=int, default=5, help="of each count of clients (5)")
    parser.add_argument("--slow", type=int, default=20, help="points with a slow client (20)")
    parser.add_argument("--good", type=int, default=20, help="points without (20)")
    parser.add_argument("--seconds", type=float, default=4.0, help="of a point (4)")
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = []
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-hosts-share.json"
    with (
        tempfile.TemporaryDirectory(prefix="sjh-") as name,
        served("exponential:100us") as near,
        served("lognormal:5ms,0.5") as far,
    ):
        os.environ["SOJOURN_STATE"] = f"{name}/state"
        for nth in range(asked.times):
            for count in COUNTS[:: 1 if nth % 2 == 0 else -1]:
                row = bins(Path(name), near, count, asked.seconds)
                keep(path, rows, {"what": "bins", "clients": count, **row})
        for nth in range(asked.slow):
            kind = KINDS[nth % len(KINDS)]
            row = slow(Path(name), near, far, kind, asked.seconds)
            keep(path, rows, {"what": "slow", "kind": kind, **row})
        for _ in range(asked.good):
            row = offered(Path(name), Cluster(Host(), Host(), Host()), near, asked.seconds)
            keep(path, rows, {"what": "good", "is_right": not row["named"], **row})
    for what in ("bins", "slow", "good"):
        own = [row for row in rows if row["what"] == what]
        print(f"{what}: {sum(row['is_right'] for row in own)} of {len(own)} right")
    print(f"rows are in {path.name}")
    return 0 if all(row["is_right"] for row in rows) else 1


def keep(path: Path, rows: list[dict[str, Any]], row: dict[str, Any]) -> None:
    """Add a row, and write all of them."""
    rows.append({**row, "load_1min": round(os.getloadavg()[0], 1)})
    print(rows[-1], flush=True)
    table = {"kernel": os.uname().release, "cpus": os.cpu_count(), "rows": rows}
    path.write_text(json.dumps(table, indent=1))


@contextmanager
def served(service: str) -> Iterator[str]:
    """The target of a synthetic service."""
    port = ports.free()
    words = ("--protocol", "echo", "--service", service, "--mode", "sleep", "--servers", "16")
    command = [programs.find("sojourn-serve"), *words, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        while ports.is_free(port):
            time.sleep(0.02)
        try:
            yield f"echo://127.0.0.1:{port}"
        finally:
            started.kill()


def offered(
    folder: Path, cluster: Cluster, target: str, seconds: float, **more: Any
) -> dict[str, Any]:
    """Offer one load; who is named, and the doubts of the point."""
    job = {
        "target": target,
        "rate": str(RATE),
        "duration": f"{seconds}s",
        "warmup": "0.3s",
        "connections": 48,
        "wait": "sleep",
        "seed": time.monotonic_ns() % (1 << 31),
        "outage_over": "10s",
        "timely_within": "10s",
        "hlog": str(folder / "load.hlog"),
        **more,
    }
    for nth, _ in enumerate(cluster.hosts):
        cluster.facts.setdefault(nth, {"boot": "the lab's", "time": f"of {nth}"})
    own = {**about(), "boot": "the lab's"}
    result: Mapping[str, Any] = {}
    refused = ""
    try:
        with Fleet(SPEC, cluster, own=own) as fleet:
            (result,) = fleet.offer([Load(job, 1, Files.named(folder, "load"))], Notes())
    except Fault as fault:
        refused = fault.what
    if refused:
        return {"refused": refused, "named": [], "doubts": []}
    table = disk.read_json(folder / "hosts.json")
    spans = result["sojourn_ns"]
    return {
        "refused": "",
        "named": table["tail"]["named"],
        "doubts": list(not_one(folder / "hosts.json")),
        "starts_within_us": table["starts"]["within_ns"] / 1e3,
        "requests": result["requests"],
        **{f"{q}_us": spans[q] and spans[q] / 1e3 for q in ("p50", "p95", "p99")},
    }


def bins(folder: Path, target: str, count: int, seconds: float) -> dict[str, Any]:
    """Whether the merged histogram is that of all raw requests, bin for bin."""
    raw = {"raw": str(folder / "raw.parquet"), "raw_max": 1_000_000}
    row = offered(folder, Cluster(*(Host() for _ in range(count))), target, seconds, **raw)
    if row["refused"]:
        return {**row, "is_right": False}
    expected, requests = HdrHistogram(1, hdr.MAX_NS, hdr.DIGITS), 0
    for nth in range(count):
        for one in pq.read_table(folder / f"raw.{nth + 1}.parquet").to_pylist():
            requests += 1
            if one["done_ns"] is not None and one["outcome"] == "hit":
                expected.record_value(one["done_ns"] - one["intended_ns"])
    merged = hdr.added([disk.read_json(folder / "load.json")["sojourn_all_ns"]["hdr"]])
    is_equal = np.array_equal(
        np.ctypeslib.as_array(merged.counts), np.ctypeslib.as_array(expected.counts)
    )
    return {**row, "is_right": bool(is_equal) and requests == row["requests"]}


def slow(folder: Path, near: str, far: str, kind: str, seconds: float) -> dict[str, Any]:
    """Whether the slow one of three clients is named, or the point unknown."""
    if kind == "delay":
        cluster = Cluster(Host(), Host(job={"target": far}), Host())
        row = offered(folder, cluster, near, seconds)
        return {**row, "is_right": row["named"] == [1]}
    if kind == "late":
        row = offered(folder, Cluster(Host(), Host(late_ns=SECOND), Host()), near, seconds)
        is_seen = any(why.startswith("clients apart") for why in row["doubts"])
        return {**row, "is_right": is_seen or bool(row["refused"])}
    over = threading.Event()
    state = Path(os.environ["SOJOURN_STATE"])
    thread = threading.Thread(target=hog, args=(state, over))
    thread.start()
    try:
        row = offered(folder, Cluster(Host(), Host(), Host()), near, seconds)
    finally:
        over.set()
        thread.join()
    is_named = len(row["named"]) == 1
    return {**row, "is_right": is_named}


def hog(state: Path, over: threading.Event) -> None:
    """Keep one generator from its CPU a fifth of the time, as a hog on its host would."""
    victim = 0
    while not over.wait(EVERY_S - STOP_S):
        pids = generators(state)
        victim = victim if victim in pids else max(pids, default=0)
        if victim:
            send(victim, signal.SIGSTOP)
            over.wait(STOP_S)
            send(victim, signal.SIGCONT)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    sys.exit(main())
