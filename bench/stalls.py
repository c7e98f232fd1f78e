"""Does the generator tell the truth about stalls? Both transports, in turn; raw results kept.

Usage: .venv/bin/python bench/stalls.py [--rounds 3] [--seconds 8]

A real memcached is stopped for 100 ms once a second (SIGSTOP, SIGCONT) at 20k requests/s. A tenth
of all requests is due while it stands still, and waits for 0 to 100 ms: p95 must be 50 ms and p99
90 ms, and a little more, for the server has to work off what came meanwhile. Then the generator
itself is stopped once for 300 ms: that must be logged as its own outage, be excluded by the log,
and make the verdict `unknown`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure import CLIENT_CPU, SERVER_CPU
from servers import started

RATE = 20_000
STALL_S, PERIOD_S = 0.1, 1.0
WANTED_MS = {"p95": 50.0, "p99": 90.0}
WITHIN = 0.10
OUTAGE_S = 0.3
LOAD = Path(sys.executable).parent / "sojourn-load"


def main() -> int:
    asked = arguments()
    rows: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="sojourn-stalls-") as name,
        started("memcache", cpu=SERVER_CPU) as (pid, port),
    ):
        load(port, Path(name), "--preload", "--rate", "100", "--duration", "100ms")
        for number in range(asked.rounds):
            for transport in ("io_uring", "epoll"):
                with stalls(pid) as lengths:
                    result = load(port, Path(name), *spinning(transport, asked.seconds))
                rows.append(row(number, transport, lengths, result))
                print(told(rows[-1]), flush=True)
        outage = client_outage(port, Path(name))
    print(verdicts(rows))
    print(outage_text(outage))
    kept = keep({"stalls": rows, "client_outage": outage})
    print(f"kept in {kept}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of each transport (3)")
    parser.add_argument("--seconds", type=int, default=8, help="length of a run, s (8)")
    return parser.parse_args()


@contextlib.contextmanager
def stalls(pid: int) -> Iterator[list[float]]:
    """Stops `pid` for `STALL_S` once a second; the lengths as they were, s."""
    lengths: list[float] = []
    over = threading.Event()

    def stall() -> None:
        os.sched_setaffinity(0, {SERVER_CPU})  # this thread: nobody else runs there in a stall
        due = time.monotonic() + PERIOD_S / 2
        late = 0.001  # by which a sleep ends too late here, learned from stall to stall
        while not over.wait(max(0.0, due - time.monotonic())):
            began = time.monotonic()
            os.kill(pid, signal.SIGSTOP)
            time.sleep(max(0.0, STALL_S - late - (time.monotonic() - began)))
            os.kill(pid, signal.SIGCONT)
            lengths.append(time.monotonic() - began)
            late += (lengths[-1] - STALL_S) / 2
            due += PERIOD_S

    thread = threading.Thread(target=stall)
    thread.start()
    try:
        yield lengths
    finally:
        over.set()
        thread.join(timeout=5)


def spinning(transport: str, seconds: int) -> list[str]:
    return [
        *("--rate", str(RATE), "--duration", f"{seconds}s", "--connections", "64"),
        *("--depth", "64", "--wait", "spin", "--transport", transport),
    ]


def load(port: int, folder: Path, *words: str, stop_after_s: float = 0.0) -> dict[str, Any]:
    """One run of the generator on its CPU; it is stopped itself, once, after `stop_after_s`."""
    out = folder / "load.json"
    out.unlink(missing_ok=True)
    target = f"memcache://127.0.0.1:{port}"
    line = [LOAD, target, *words, "--cpus", str(CLIENT_CPU), "--json", out]
    with subprocess.Popen(
        ["nice", "-n", "-10", *map(str, line)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        if stop_after_s:
            time.sleep(stop_after_s)
            process.send_signal(signal.SIGSTOP)
            time.sleep(OUTAGE_S)
            process.send_signal(signal.SIGCONT)
        process.wait(timeout=60)
    return dict(json.loads(out.read_text()))


def row(
    number: int, transport: str, lengths: list[float], result: dict[str, Any]
) -> dict[str, Any]:
    keys = ("verdict", "reasons", "timely_ratio", "offered_rps", "achieved_rps")
    return {
        "round": number,
        "transport": transport,
        "stall_ms": round(statistics.mean(lengths) * 1e3, 2),
        **{q: round(result["sojourn_ns"][q] / 1e6, 2) for q in WANTED_MS},
        "outages": {k: v for k, v in result["outages"].items() if k != "log"},
        **{key: result[key] for key in keys},
    }


def told(one: dict[str, Any]) -> str:
    reasons = f" ({one['reasons'][0]})" if one["reasons"] else ""
    return (
        f"{one['transport']:9} stopped for {one['stall_ms']} ms a second: "
        f"p95 {one['p95']:6.1f} ms, p99 {one['p99']:6.1f} ms, {one['verdict']}{reasons}"
    )


def verdicts(rows: list[dict[str, Any]]) -> str:
    """The median of each transport's believed runs against what is true."""
    lines = []
    for transport in ("io_uring", "epoll"):
        mine = [r for r in rows if r["transport"] == transport and r["verdict"] != "unknown"]
        for q, wanted in WANTED_MS.items():
            if not mine:
                lines.append(f"{transport:9} {q}: unknown, no run can be believed")
                continue
            got = statistics.median(r[q] for r in mine)
            word = "holds" if abs(got / wanted - 1) <= WITHIN else "violated"
            lines.append(
                f"{transport:9} {q}: {got:.1f} ms, {got / wanted:.3f} of {wanted} ms: {word}"
            )
    return "\n".join(lines)


def client_outage(port: int, folder: Path) -> dict[str, Any]:
    result = load(port, folder, *spinning("auto", 4), stop_after_s=2.5)
    keys = ("verdict", "reasons", "outages")
    both = {name: result[name]["p99"] for name in ("sojourn_ns", "sojourn_all_ns")}
    return {**{key: result[key] for key in keys}, **both}


def outage_text(outage: dict[str, Any]) -> str:
    log = outage["outages"]
    return (
        f"client stopped for {OUTAGE_S * 1e3:.0f} ms: logged {log['longest_ns'] / 1e6:.0f} ms, "
        f"{log['share_excluded'] * 100:.1f} % of requests excluded, p99 "
        f"{outage['sojourn_ns'] / 1e6:.2f} ms with them {outage['sojourn_all_ns'] / 1e6:.0f} ms, "
        f"verdict {outage['verdict']}: {outage['reasons'][0] if outage['reasons'] else ''}"
    )


def keep(table: dict[str, Any]) -> Path:
    folder = Path(__file__).parent / "runs"
    folder.mkdir(exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-stalls.json"
    path.write_text(json.dumps(table, indent=1) + "\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
