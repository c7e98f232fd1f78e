"""How timely do clients send at a rate, by one log: the server's own times of arrival.

Usage: .venv/bin/python bench/timely.py [--rates 20000,50000] [--rounds 4] [--seconds 4]

Each client is asked for evenly spaced requests on 16 connections to the same memcached. The tracer
writes when each request reached the server (`sojourn-trace --times`). memtier_benchmark spaces the
requests of each connection, ours those of all together. So lateness is the time since the point of
the client's own grid, which its earliest requests show, but for 1 % of them.
CPU time is the kernel's for the client's process, over the requests that arrived: what a client
saves by waking up for several requests at once shows beside how late it sends them. Server on CPU
0, client on CPU 1; the order of each round is drawn. Needs root and memtier_benchmark in PATH.
Rows are stored in bench/runs/<UTC>-timely.json.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from servers import started

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
CONNECTIONS = 16
WAITS = ("spin", "sleep", "sleep:100us", "sleep:250us", "sleep:500us")
MEMTIER = "memtier"
EARLIEST = 0.01
SETTLE_S = 0.5


def command(client: str, rate: int, port: int, seconds: int) -> list[str]:
    """Its words; `client` is a way to wait of ours, or memtier."""
    if client != MEMTIER:
        words = ["--rate", str(rate), "--arrivals", "fixed", "--connections", str(CONNECTIONS)]
        words += ["--wait", client, "--cpus", "1", "--duration", f"{seconds}s", "--warmup", "200ms"]
        return [str(BIN / "sojourn-load"), f"memcache://127.0.0.1:{port}", *words]
    words = ["memtier_benchmark", "-s", "127.0.0.1", "-p", str(port), "-P", "memcache_text"]
    words += ["-t", "1", "-c", str(CONNECTIONS), "--ratio", "0:1", "--hide-histogram"]
    words += ["--rate-limiting", str(rate // CONNECTIONS), "--test-time", str(seconds)]
    return ["taskset", "-c", "1", *words]


def late_us(at_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Lateness of the arrivals of one grid, µs.

    >>> late_us(np.array([0, 1000, 2500, 3000])).round(2).tolist()
    [0.0, 0.0, 0.5, 0.0]
    """
    ordered, nth = np.sort(at_ns).astype(float), np.arange(len(at_ns))
    beyond = ordered - (ordered[-1] - ordered[0]) / (len(ordered) - 1) * nth
    tenth = max(1, len(ordered) // 10)
    # Both ends may be late. The earliest of the first and of the last tenth are on the grid.
    first, last = int(beyond[:tenth].argmin()), int(beyond[-tenth:].argmin()) + len(ordered) - tenth
    beyond -= (beyond[last] - beyond[first]) / max(1, last - first) * nth
    result: NDArray[np.float64] = (beyond - np.quantile(beyond, EARLIEST)) / 1e3
    return result


def one(client: str, rate: int, seconds: int) -> dict[str, Any]:
    """One run of one client, on a server of its own."""
    with started("memcache", cpu=0) as (pid, port), tempfile.TemporaryDirectory() as name:
        file = Path(name) / "times.parquet"
        words = ["--pid", str(pid), "--port", str(port), "--times", str(file)]
        tracer = subprocess.Popen(
            [str(BIN / "sojourn-trace"), *words, "--duration", "1h"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        process = subprocess.Popen(
            command(client, rate, port, seconds + 1),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        tracer.send_signal(signal.SIGINT)
        tracer.wait(60)
        table = pq.read_table(file)
    return {"client": client, "rate": rate} | judged(table, client, used.ru_utime + used.ru_stime)


def judged(table: Any, client: str, cpu_s: float) -> dict[str, Any]:
    """Lateness of the middle of a run, and CPU time of all of it."""
    at = table["start_ns"].to_numpy()
    of = table["connection"].to_numpy()
    begin, end = at.min() + SETTLE_S * 1e9, at.max() - SETTLE_S * 1e9
    middle = (at > begin) & (at < end)
    grids = [middle] if client != MEMTIER else [middle & (of == one) for one in np.unique(of)]
    late = np.concatenate([late_us(at[one]) for one in grids if one.sum() > 100])
    p50, p99 = np.quantile(late, [0.5, 0.99])
    counts = np.bincount(((at[middle] - begin) / 1e6).astype(int))
    return {
        "rps": float(middle.sum() / (end - begin) * 1e9),
        "late_p50_us": float(p50),
        "late_p99_us": float(p99),
        "within_50us": float((late <= 50).mean()),
        "clumps": float(counts.var() / counts.mean()),
        "cpu_us": 1e6 * cpu_s / len(at),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rates", default="20000,50000")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=4)
    asked = parser.parse_args()
    if shutil.which("memtier_benchmark") is None:
        print(
            "error: no memtier_benchmark\n  at: PATH\n  fix: build or install it", file=sys.stderr
        )
        return 2
    draw, rows = random.Random(1), []  # noqa: S311 - an order, no secret
    for rate in map(int, asked.rates.split(",")):
        for round_ in range(asked.rounds):
            for client in draw.sample((*WAITS, MEMTIER), len(WAITS) + 1):
                rows.append({"round": round_} | one(client, rate, asked.seconds))
                print(json.dumps(rows[-1]), flush=True)
    at = HERE / "runs" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-timely.json"
    at.write_text(json.dumps(rows, indent=1) + "\n")
    print(table_of(rows), f"\nrows: {at.name}")
    return 0


def table_of(rows: list[dict[str, Any]]) -> str:
    """Medians of each client at each rate."""
    keys = ("rps", "cpu_us", "late_p50_us", "late_p99_us", "within_50us", "clumps")
    lines = [f"| rate | client | {' | '.join(keys)} |", "|---" * (len(keys) + 2) + "|"]
    for rate, client in dict.fromkeys((row["rate"], row["client"]) for row in rows):
        own = [row for row in rows if (row["rate"], row["client"]) == (rate, client)]
        cells = [f"{statistics.median(row[key] for row in own):.4g}" for key in keys]
        lines.append(f"| {rate} | {client} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
