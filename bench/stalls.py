"""Does the generator tell the truth about stalls? Both transports, in turn; raw results kept.

Usage: .venv/bin/python bench/stalls.py [--rounds 3] [--seconds 8] [--only grpc]

A real server, with all its processes, is stopped for 100 ms once a second (SIGSTOP, SIGCONT) at
20k requests/s for memcached and Redis, at 1,000 to 2,000 for NGINX over TLS (HTTP/1.1 and HTTP/2),
the greeter of grpc-go and PostgreSQL (`bench/wire/setup` makes what is not there). A tenth of
all requests is due while it stands still, and waits for 0 to 100 ms: p95 must be 50 ms and p99
90 ms, and a little more, for the server has to work off what came meanwhile. At a share u of its
peak that adds 50u ms to p95 and 10u ms to p99 if replies leave one by one, twice as much if they
leave at the end of a round (Redis). Then the generator itself is stopped once for
300 ms: that must be logged as its own outage and be excluded by the log (METHOD M27, M33), so that
p99 is that of a generator that never stopped.
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
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure import CLIENT_CPU, SERVER_CPU
from servers import started
from wire import endpoints

SERVERS = {"memcached": "memcache", "redis": "resp"}
WIRE = ("https", "h2", "grpc", "postgres")
RATES = {
    "memcached": 20_000,
    "redis": 20_000,
    "https": 1_500,
    "h2": 2_000,
    "grpc": 1_500,
    "postgres": 1_000,
}
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
        for server in (one for one in RATES if asked.only in one):
            with serving(server) as (family, target):
                if server in SERVERS:
                    load(target, out, "--preload", "--rate", "100", "--duration", "100ms")
                for number in range(asked.rounds):
                    for transport in ("io_uring", "epoll"):
                        with stalls(family) as lengths:
                            result = load(target, out, *spinning(transport, asked.seconds, server))
                        rows.append(row(number, server, transport, lengths, result))
                        print(row_text(rows[-1]), flush=True)
                outages[server] = client_outage(target, out, server)
    print(verdicts(rows))
    for server, outage in outages.items():
        print(f"{server:10}{outage_text(outage)}")
    path = keep({"stalls": rows, "client_outage": outages})
    print(f"kept in {path}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of each transport (3)")
    parser.add_argument("--seconds", type=int, default=8, help="length of a run, s (8)")
    parser.add_argument("--only", default="", help="servers whose name holds this, such as grpc")
    return parser.parse_args()


@contextlib.contextmanager
def serving(server: str) -> Iterator[tuple[Callable[[], list[int]], tuple[str, ...]]]:
    """A server; yields what tells its processes, and the words that ask it."""
    if server in WIRE:
        with endpoints.started(server, SERVER_CPU) as endpoint:
            yield endpoint.family, endpoint.words
        return
    protocol = SERVERS[server]
    with started(protocol, cpu=SERVER_CPU) as (pid, port):
        yield lambda: [pid], (f"{protocol}://127.0.0.1:{port}",)


@contextlib.contextmanager
def stalls(family: Callable[[], list[int]]) -> Iterator[list[float]]:
    """Stops processes for `STALL_S` once a second; the lengths as they were, s."""
    lengths: list[float] = []
    over = threading.Event()

    def stall() -> None:
        os.sched_setaffinity(0, {SERVER_CPU})  # this thread: no one else runs there in a stall
        due = time.monotonic() + PERIOD_S / 2
        late = 0.001  # by which a sleep ends too late here, learned from stall to stall
        while not over.wait(max(0.0, due - time.monotonic())):
            pids = family()
            began = time.monotonic()
            signalled(pids, signal.SIGSTOP)
            time.sleep(max(0.0, STALL_S - late - (time.monotonic() - began)))
            signalled(pids, signal.SIGCONT)
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


def signalled(pids: list[int], what: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, what)


def spinning(transport: str, seconds: int, server: str) -> list[str]:
    many = {
        "grpc": ("8", "--streams", "64"),
        "h2": ("8", "--streams", "64"),
        "postgres": ("16",),
        "https": ("64",),
    }.get(server, ("64", "--depth", "64"))
    return [
        *("--rate", str(RATES[server]), "--duration", f"{seconds}s", "--connections", *many),
        *("--wait", "spin", "--transport", transport),
    ]


def load(
    target: tuple[str, ...], out: Path, *words: str, stop_after_s: float = 0.0
) -> dict[str, Any]:
    """One run of the generator on its CPU; it is stopped itself, once, after `stop_after_s`."""
    out.unlink(missing_ok=True)
    line = [LOAD, *target, *words, "--cpus", str(CLIENT_CPU), "--json", out]
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


def row_text(one: dict[str, Any]) -> str:
    reasons = f" ({one['reasons'][0]})" if one["reasons"] else ""
    return (
        f"{one['server']:10}{one['transport']:9} stopped for {one['stall_ms']} ms a second: "
        f"p95 {one['p95']:6.1f} ms, p99 {one['p99']:6.1f} ms, {one['verdict']}{reasons}"
    )


def verdicts(rows: list[dict[str, Any]]) -> str:
    """The median of each transport's believed runs against what is true."""
    lines = []
    for server, transport in itertools.product(RATES, ("io_uring", "epoll")):
        own = [r for r in rows if (r["server"], r["transport"]) == (server, transport)]
        if not own:
            continue
        believed = [r for r in own if r["verdict"] != "unknown"]
        for q, wanted in WANTED_MS.items():
            head = f"{server:10}{transport:9} {q}:"
            if not believed:
                lines.append(f"{head} unknown, no run can be believed")
                continue
            got = statistics.median(r[q] for r in believed)
            word = "holds" if abs(got / wanted - 1) <= WITHIN else "violated"
            lines.append(f"{head} {got:.1f} ms, {got / wanted:.3f} of {wanted} ms: {word}")
    return "\n".join(lines)


def client_outage(target: tuple[str, ...], out: Path, server: str) -> dict[str, Any]:
    result = load(target, out, *spinning("auto", 4, server), stop_after_s=2.5)
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
