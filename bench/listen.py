"""What `sojourn-load --listen` costs the client: without it, with it, and asked once a second.

memcached on CPU 0, the client on CPU 1, its requests open-loop. The ways, each once a round in
random order:

    none      no listener
    listen    a listener without a reader
    text      asked once a second, as Prometheus does it at the shortest; classic buckets
    native    the same with native histograms

CPU time is the kernel's for the whole client (wait4), over the requests that it sent. It depends
little on what else the machine does; p99 does. Each way is set against "none" of the same round:
geometric mean of the ratios with a 95 % interval (Student's, of the logarithms). No run is left
out; a pair in which a number is missing is counted. Rows are kept in bench/runs.

    .venv/bin/python bench/listen.py [--rounds 12] [--seconds 5] [--rate 20000] [--wait sleep]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import runpy
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sojourn.places import ports

HERE = Path(__file__).parent
tail = SimpleNamespace(**runpy.run_path(str(HERE / "trace/tail.py")))
servers = SimpleNamespace(**runpy.run_path(str(HERE / "servers.py")))
WAYS = ("none", "listen", "text", "native")
NATIVE = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily"
SEEN = ("cpu", "mean", "p99")
EVERY_S = 1.0
WORDS = "memcache://127.0.0.1:{port} --preload --items 1000 --connections 16 --cpus 1 --warmup 1s"


def run(args: argparse.Namespace, way: str, port: int, folder: Path) -> dict[str, Any]:
    """One load: CPU time of the client for a request, mean and p99, ns, and how often it was asked.

    A number is None where too few requests say what it is.
    """
    result, listening = folder / "load.json", ports.free()
    command = [str(args.bin / "sojourn-load"), *WORDS.format(port=port).split()]
    command += ["--rate", str(args.rate), "--duration", f"{args.seconds}s", "--wait", args.wait]
    command += ["--json", str(result)]
    if way != "none":
        command += ["--listen", str(listening)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as client:
        ended, asked = threading.Event(), []
        if way in {"text", "native"}:
            head = {"Accept": NATIVE} if way == "native" else {}
            url = f"http://127.0.0.1:{listening}/metrics"
            threading.Thread(target=ask, args=(url, head, ended, asked), daemon=True).start()
        _, status, used = os.wait4(client.pid, 0)
        ended.set()
        client.returncode = os.waitstatus_to_exitcode(status)
    table = json.loads(result.read_text())
    cpu_s = used.ru_utime + used.ru_stime
    times = {seen: table["sojourn_ns"][seen] for seen in ("mean", "p99")}
    requests = args.rate * (args.seconds + 1)
    return {"cpu": 1e9 * cpu_s / requests, **times, "bytes": asked, "verdict": table["verdict"]}


def ask(url: str, head: dict[str, str], ended: threading.Event, asked: list[int]) -> None:
    """Ask once a second, and keep how many bytes came."""
    while not ended.wait(EVERY_S):
        with contextlib.suppress(OSError):
            request = urllib.request.Request(url, headers=head)  # noqa: S310
            with urllib.request.urlopen(request, timeout=5) as reply:  # noqa: S310
                asked.append(len(reply.read()))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--wait", default="sleep")
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    args = parser.parse_args()
    rounds: list[dict[str, Any]] = []
    path = HERE / "runs" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-listen.json"
    with (
        tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name,
        servers.started("memcache", 0) as (_, port),
    ):
        for number in range(args.rounds):
            rows = {w: run(args, w, port, Path(name)) for w in random.sample(WAYS, len(WAYS))}
            rounds.append(rows)
            table = {"rate": args.rate, "wait": args.wait, "rounds": rounds}
            path.write_text(json.dumps(table, indent=1) + "\n")
            line = "  ".join(f"{w} {rows[w]['cpu'] / 1e3:.2f} µs" for w in WAYS)
            print(f"{number + 1}: {line}", flush=True)
            time.sleep(0.1)
    for way in WAYS[1:]:
        for seen in SEEN:
            pairs = [(r[way][seen], r["none"][seen]) for r in rounds]
            ratios = [own / none for own, none in pairs if own and none]
            lacking = f", {len(pairs) - len(ratios)} pairs lack it" * (len(ratios) < len(pairs))
            print(f"{way} {seen} {tail.over_none(ratios, 1.01)}{lacking}")
    print(f"stored in {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
