"""What tracing does to the tail that a user of the service sees: ways to trace in turn, and none.

One memcached of one thread at 40,000 requests a second, about half of its CPU. In every round each
way runs once, in random order: the tracer starts beside the load and ends with it. What counts is
the client's own log, as it is: no run is left out, for a tracer that stops the client is felt too.
Each way is set against "none" of the same round; the answer is the median ratio, with quartiles.

Needs root, memcached and the programs (`cargo build --release -p sojourn-tools --features bpf`).

    .venv/bin/python bench/trace/tail.py [--rounds 20] [--seconds 12] [--bin target/release]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import runpy
import statistics
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).parent
servers = SimpleNamespace(**runpy.run_path(str(HERE.parent / "servers.py")))
WAYS: dict[str, list[str] | None] = {
    "none": None,
    "windows": [],
    "sample": ["--sample", "1/64"],
    "all": ["--all"],
}
SEEN = ("mean", "p99", "p999")  # ns
RATE = 40_000  # requests/s
BEFORE_S = 1.0  # the tracer begins so long before requests count
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def run(args: argparse.Namespace, words: list[str] | None) -> dict[str, float]:
    """One run: the client's times in ns, with the tracer of these words or with none."""
    with (
        tempfile.TemporaryDirectory(prefix="sojourn-tail-") as name,
        servers.started("memcache", 0) as (pid, port),
    ):
        kept = Path(name) / "load"
        load = f"memcache://127.0.0.1:{port} --preload --items 1000 --rate {args.rate}"
        load += f" --connections 64 --wait sleep --warmup {BEFORE_S + 1}s"
        load += f" --duration {args.seconds}s --json {kept}"
        client = subprocess.Popen([str(args.bin / "sojourn-load"), *load.split()], **QUIET)
        time.sleep(BEFORE_S)
        tracer = None
        if words is not None:
            command = [str(args.bin / "sojourn-trace"), "--pid", str(pid), "--duration"]
            tracer = subprocess.Popen([*command, f"{args.seconds + 1}s", *words], **QUIET)
        client.wait(timeout=args.seconds + 60)
        if tracer is not None:
            tracer.wait(timeout=60)
        times = json.loads(kept.read_text())["sojourn_ns"]
    if any(times[seen] is None for seen in SEEN):
        raise SystemExit("requests were lost: the machine is too busy for this load")
    return {seen: float(times[seen]) for seen in SEEN}


def summary(rounds: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Median of each way, ns, and the quartiles of what it is over none of the same round."""
    found: dict[str, Any] = {}
    for way in WAYS:
        found[way] = {}
        for seen in SEEN:
            ratios = [r[way][seen] / r["none"][seen] for r in rounds]
            found[way][seen] = {
                "median_ns": statistics.median(r[way][seen] for r in rounds),
                "over_none": statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios,
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rate", type=int, default=RATE)
    parser.add_argument("--seconds", type=int, default=12)
    parser.add_argument("--bin", type=Path, default=HERE.parent.parent / "target/release")
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    order, rounds = random.Random(1), []  # noqa: S311 - an order, no secret
    for number in range(args.rounds):
        ways = order.sample(list(WAYS), len(WAYS))
        rounds.append({way: run(args, WAYS[way]) for way in ways})
        print(number, {way: round(rounds[-1][way]["p99"] / 1e3) for way in WAYS}, flush=True)
    when = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    told = {"when": when, "kernel": os.uname().release, "load_1min": os.getloadavg()[0]}
    out = args.out or HERE / "runs" / f"tail-{when}-vm.json"
    out.write_text(json.dumps({**told, "rounds": rounds, "summary": summary(rounds)}, indent=1))
    for way, numbers in summary(rounds).items():
        print(way, {seen: (it["median_ns"], it["over_none"]) for seen, it in numbers.items()})


if __name__ == "__main__":
    main()
