"""What does the black box cost the service: its CPU time per request, with it over without it.

memcached (one thread) on CPU 0, an open-loop client on CPU 1, the black box wherever the kernel
puts it. Runs with and without it alternate, in an order that is drawn for each pair. The kernel's
own account of the server's threads is read before and after the measured requests. Prints the ratio
of each pair, the median, and an interval of 95 % (sign test). Needs root, memcached, two CPUs. Raw
rows: bench/ring/results.

    .venv/bin/python bench/ring/cost.py [--rate 30000] [--pairs 8] [--seconds 6]
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def cpu_ns(pid: int) -> int:
    """What all threads of a process have run."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def wait_for(word: str, lines: Iterable[str] | None) -> None:
    """Until a line has the word."""
    any(word in line for line in lines or ())


def own_s(pid: int) -> float:
    """CPU time of the black box."""
    return cpu_ns(pid) / 1e9


def load(args: argparse.Namespace, port: int, pid: int, *more: str) -> tuple[float, float | None]:
    """CPU time of the server per request, ns, and p99 of the client, ns."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "load.json"
        before = cpu_ns(pid)
        subprocess.run(
            [
                str(args.programs / "sojourn-load"),
                f"memcache://127.0.0.1:{port}",
                "--cpus",
                "1",
                "--rate",
                str(args.rate),
                "--duration",
                f"{args.seconds}s",
                "--warmup",
                "1s",
                "--connections",
                "64",
                "--json",
                str(out),
                *more,
            ],
            check=False,
            capture_output=True,
        )
        used = cpu_ns(pid) - before
        result = json.loads(out.read_text())
    requests = args.rate * (args.seconds + 1)
    quantiles = result["sojourn_ns"].get("quantiles") or []
    p99 = next((it.get("value_ns") for it in quantiles if it.get("q") == 0.99), None)
    return used / requests, p99


def one(args: argparse.Namespace, port: int, pid: int, *, is_on: bool) -> dict[str, Any]:
    """One run."""
    tracer = None
    if is_on:
        tracer = subprocess.Popen(
            [
                str(args.programs / "sojourn-trace"),
                "--ring",
                "--pid",
                str(pid),
                "--over",
                "5ms",
                "--dumps",
                str(args.dumps),
                "--pause",
                "1h",
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for("watching", tracer.stderr)
    time.sleep(0.5)
    began = own_s(tracer.pid) if tracer else 0.0
    per_request, p99 = load(args, port, pid)
    used = own_s(tracer.pid) - began if tracer else 0.0
    if tracer:
        tracer.terminate()
        tracer.wait()
    row = {"on": is_on, "cpu_ns": per_request, "p99_ns": p99}
    return row | ({"own_cpu_share": used / (args.seconds + 1)} if tracer else {})


def main() -> int:
    """Pairs, ratio, interval."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rate", type=int, default=30_000)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--programs", type=Path, default=HERE.parent.parent / "target/release")
    args = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["-u", "root", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "1"]
    server = subprocess.Popen(["taskset", "-c", "0", "memcached", *words])
    rng, rows = random.Random(1), []  # noqa: S311 - an order, no secret
    try:
        time.sleep(0.5)
        with tempfile.TemporaryDirectory() as name:
            args.dumps = Path(name) / "dumps"
            load(args, port, server.pid, "--preload")
            for _ in range(args.pairs):
                order = [True, False]
                rng.shuffle(order)
                rows.append([one(args, port, server.pid, is_on=is_on) for is_on in order])
    finally:
        server.terminate()
        server.wait()
    ratios = []
    for pair in rows:
        on, off = (
            next(row["cpu_ns"] for row in pair if row["on"] is is_on) for is_on in (True, False)
        )
        ratios.append(float(on) / float(off))
    ratios.sort()
    outer = 0 if len(ratios) < 9 else 1  # of 6 to 8 pairs the extremes: 97 % and more
    own = statistics.mean(row["own_cpu_share"] for pair in rows for row in pair if row["on"])
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    file = HERE / "results" / f"{stamp}-cost-{args.rate}.json"
    file.write_text(
        json.dumps({"rate": args.rate, "seconds": args.seconds, "pairs": rows}, indent=1) + "\n"
    )
    print(f"{args.rate} requests/s: CPU per request ×{statistics.median(ratios):.4f}", end=" ")
    print(f"[{ratios[outer]:.4f}, {ratios[-1 - outer]:.4f}], own CPU {own:.2%} of one; {file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
