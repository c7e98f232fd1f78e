"""Does the generator tell the truth about stalls? Both transports, in turn; raw results kept.

Usage: .venv/bin/python bench/stalls.py [--rounds 3] [--seconds 8]

A real server is stopped for 100 ms once a second (SIGSTOP, SIGCONT) at 20k requests/s. A tenth of
all requests is due while it stands still, and waits for 0 to 100 ms: p95 must be 50 ms and p99
90 ms, and a little more, for the server has to work off the 2000 requests that came meanwhile: at
5 µs each that takes 10 ms, and adds half of it to both if replies leave one by one (memcached), all
of it if they leave at the end of a round (Redis). Then the generator itself is stopped once for
300 ms: that must be logged as its own outage, be excluded by the log, and make the verdict
`unknown`.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
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

SERVERS = {"memcached": "memcache", "redis": "resp"}
RATE = 20_000
STALL_S, PERIOD_S = 0.1, 1.0
WANTED_MS = {"p95": 50.0, "p99": 90.0}
WITHIN = 0.10
OUTAGE_S = 0.3
LOAD = Path(sys.executable).parent / "sojourn-load"


def main() -> int:
    asked = arguments()
    rows: list[dict[str, Any]] = []
    outages: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="sojourn-stalls-") as name:
        out = Path(name) / "load.json"
        for server, protocol in SERVERS.items():
            with started(protocol, cpu=SERVER_CPU) as (pid, port):
                target = f"{protocol}://127.0.0.1:{port}"
                load(target, out, "--preload", "--rate", "100", "--duration", "100ms")
                for number in range(asked.rounds):
                    for transport in ("io_uring", "epoll"):
                        with stalls(pid) as lengths:
                            result = load(target, out, *spinning(transport, asked.seconds))
                        rows.append(row(number, server, transport, lengths, result))
                        print(told(rows[-1]), flush=True)
                outages[server] = client_outage(target, out)
    print(verdicts(rows))
    for server, outage in outages.items():
        print(f"{server:10}{outage_text(outage)}")
    kept = keep({"stalls": rows, "client_outage": outages})
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


def load(target: str, out: Path, *words: str, stop_after_s: float = 0.0) -> dict[str, Any]:
    """One run of the generator on its CPU; it is stopped itself, once, after `stop_after_s`."""
    out.unlink(missing_ok=True)
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
    number: int, server: str, transport: str, lengths: list[float], result: dict[str, Any]
) -> dict[str, Any]:
    keys = ("verdict", "reasons", "timely_ratio", "offered_rps", "achieved_rps")
    return {
        "round": number,
        "server": server,
        "transport": transport,
        "stall_ms": round(statistics.mean(lengths) * 1e3, 2),
        **{q: round(result["sojourn_ns"][q] / 1e6, 2) for q in WANTED_MS},
        "outages": {k: v for k, v in result["outages"].items() if k != "log"},
        **{key: result[key] for key in keys},
    }


def told(one: dict[str, Any]) -> str:
    reasons = f" ({one['reasons'][0]})" if one["reasons"] else ""
    return (
        f"{one['server']:10}{one['transport']:9} stopped for {one['stall_ms']} ms a second: "
        f"p95 {one['p95']:6.1f} ms, p99 {one['p99']:6.1f} ms, {one['verdict']}{reasons}"
    )


def verdicts(rows: list[dict[str, Any]]) -> str:
    """The median of each transport's believed runs against what is true."""
    lines = []
    for server, transport in itertools.product(SERVERS, ("io_uring", "epoll")):
        mine = [r for r in rows if (r["server"], r["transport"]) == (server, transport)]
        believed = [r for r in mine if r["verdict"] != "unknown"]
        for q, wanted in WANTED_MS.items():
            head = f"{server:10}{transport:9} {q}:"
            if not believed:
                lines.append(f"{head} unknown, no run can be believed")
                continue
            got = statistics.median(r[q] for r in believed)
            word = "holds" if abs(got / wanted - 1) <= WITHIN else "violated"
            lines.append(f"{head} {got:.1f} ms, {got / wanted:.3f} of {wanted} ms: {word}")
    return "\n".join(lines)


def client_outage(target: str, out: Path) -> dict[str, Any]:
    result = load(target, out, *spinning("auto", 4), stop_after_s=2.5)
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
