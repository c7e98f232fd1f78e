"""How timely do clients send at a rate, by one log: the server's own times of arrival.

Usage: .venv/bin/python bench/timely.py [--only memcache/20000] [--rounds 4] [--seconds 4]

Each client is asked for evenly spaced requests on 16 connections to the same kind of server:
memcached, or NGINX over HTTP/2. The tracer writes when each request reached the server
(`sojourn-trace --times`). memtier_benchmark and h2load space the requests of each connection, ours
those of all together. So lateness is the time since the point of the client's own grid, which its
earliest requests show, but for 1 % of them. CPU time is the kernel's for the client's process, over
the requests that the server counted: what a client saves by waking up for several requests at once
shows beside how late it sends them. Server on CPU 0, client on CPU 1; the order of each round is
drawn. Needs root, memtier_benchmark and h2load in PATH; a case without its peer is left out.
Rows are stored in bench/runs/<UTC>-timely.json.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import servers
from numpy.typing import NDArray
from wire import endpoints

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
CONNECTIONS, STREAMS = 16, 8
WAITS = ("spin", "sleep", "sleep:100us", "sleep:250us", "sleep:500us", "sleep:1ms")
EARLIEST = 0.01
SETTLE_S = 0.5


@dataclass(frozen=True, slots=True)
class Case:
    """A protocol at a rate (requests/s), and the tool to be held against."""

    protocol: str
    rate: int
    peer: str

    @property
    def name(self) -> str:
        return f"{self.protocol}/{self.rate}"


@dataclass(frozen=True, slots=True)
class At:
    """A server: its process, its port, how ours is asked for load, requests that it has seen."""

    pid: int
    port: int
    words: tuple[str, ...]
    seen: Callable[[], int]


CASES = (
    Case("memcache", 20_000, "memtier_benchmark"),
    Case("memcache", 50_000, "memtier_benchmark"),
    Case("h2", 5_000, "h2load"),
)


@contextmanager
def server(protocol: str) -> Iterator[At]:
    """A server of its own for each run."""
    if protocol == "memcache":
        with servers.started(protocol, cpu=0) as (pid, port):
            seen = functools.partial(servers.requests_seen, protocol, port)
            yield At(pid, port, (f"memcache://127.0.0.1:{port}",), seen)
        return
    with endpoints.started(protocol, cpu=0) as at:
        assert at.seen is not None  # noqa: S101  # NGINX counts
        yield At(at.pid, at.port, (*at.words, "--streams", str(STREAMS)), at.seen)


def command(case: Case, client: str, at: At, seconds: int) -> list[str]:
    """Its words; `client` is a way to wait of ours, or the peer."""
    each = case.rate / CONNECTIONS
    if client == "memtier_benchmark":
        words = [client, "-s", "127.0.0.1", "-p", str(at.port), "-P", "memcache_text"]
        words += ["-t", "1", "-c", str(CONNECTIONS), "--ratio", "0:1", "--hide-histogram"]
        words += ["--rate-limiting", f"{each:.0f}", "--test-time", str(seconds)]
        return ["taskset", "-c", "1", *words]
    if client == "h2load":
        words = [client, "-c", str(CONNECTIONS), "-m", str(STREAMS), "-t", "1", f"--rps={each:g}"]
        words += ["-D", str(seconds), f"https://127.0.0.1:{at.port}/4k"]
        return ["taskset", "-c", "1", *words]
    words = ["--rate", str(case.rate), "--arrivals", "fixed", "--connections", str(CONNECTIONS)]
    words += ["--wait", client, "--cpus", "1", "--duration", f"{seconds}s", "--warmup", "200ms"]
    return [str(BIN / "sojourn-load"), *at.words, *words]


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


def one(case: Case, client: str, seconds: int) -> dict[str, Any]:
    """One run of one client, on a server of its own."""
    with server(case.protocol) as at, tempfile.TemporaryDirectory() as name:
        file = Path(name) / "times.parquet"
        words = ["--pid", str(at.pid), "--port", str(at.port), "--times", str(file)]
        tracer = subprocess.Popen(
            [str(BIN / "sojourn-trace"), *words, "--duration", "1h"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        time.sleep(SETTLE_S)
        before = at.seen()
        process = subprocess.Popen(
            command(case, client, at, seconds + 1),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        requests = at.seen() - before
        tracer.send_signal(signal.SIGINT)
        says = tracer.communicate(timeout=60)[1].decode()
        if not file.exists():
            sys.exit(f"error: no times of {client}\n  at: sojourn-trace\n  fix: see {says}")
        table = pq.read_table(file)
    cpu_s, is_ours = used.ru_utime + used.ru_stime, client != case.peer
    row = {"case": case.name, "client": client, "requests": requests}
    return row | judged(table, is_one_grid=is_ours) | {"cpu_us": 1e6 * cpu_s / requests}


def judged(table: Any, *, is_one_grid: bool) -> dict[str, float]:
    """Lateness in the middle of a run, by the grid of all connections together or of each."""
    at = table["start_ns"].to_numpy()
    of = table["connection"].to_numpy()
    begin, end = at.min() + SETTLE_S * 1e9, at.max() - SETTLE_S * 1e9
    middle = (at > begin) & (at < end)
    grids = [middle] if is_one_grid else [middle & (of == one) for one in np.unique(of)]
    late = np.concatenate([late_us(at[one]) for one in grids if one.sum() > 100])
    p50, p99 = np.quantile(late, [0.5, 0.99])
    counts = np.bincount(((at[middle] - begin) / 1e6).astype(int))
    return {
        "rps": float(middle.sum() / (end - begin) * 1e9),
        "late_p50_us": float(p50),
        "late_p99_us": float(p99),
        "within_50us": float((late <= 50).mean()),
        "clumps": float(counts.var() / counts.mean()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="part of a case's name")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=4)
    asked = parser.parse_args()
    draw, rows = random.Random(1), []  # noqa: S311 - an order, no secret
    for case in (case for case in CASES if asked.only in case.name):
        if shutil.which(case.peer) is None:
            print(f"{case.name}: no {case.peer} in PATH", file=sys.stderr)
            continue
        for round_ in range(asked.rounds):
            for client in draw.sample((*WAITS, case.peer), len(WAITS) + 1):
                rows.append({"round": round_} | one(case, client, asked.seconds))
                print(json.dumps(rows[-1]), flush=True)
    at = HERE / "runs" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-timely.json"
    at.write_text(json.dumps(rows, indent=1) + "\n")
    print(table_of(rows), f"\nrows: {at.name}")
    return 0


def table_of(rows: list[dict[str, Any]]) -> str:
    """Medians of each client at each rate."""
    keys = ("rps", "cpu_us", "late_p50_us", "late_p99_us", "within_50us", "clumps")
    lines = [f"| case | client | {' | '.join(keys)} |", "|---" * (len(keys) + 2) + "|"]
    for case, client in dict.fromkeys((row["case"], row["client"]) for row in rows):
        own = [row for row in rows if (row["case"], row["client"]) == (case, client)]
        cells = [f"{statistics.median(row[key] for row in own):.4g}" for key in keys]
        lines.append(f"| {case} | {client} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
