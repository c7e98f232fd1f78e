"""How far windows and a sample of flows are from the whole: three tracers of the same minute.

One tracer keeps a record of every request, one works in windows, one samples flows; all look at the
same server under the same steady load, so that what differs is which requests they see. Printed for
each server: the largest error of a stage's share, of all requests and of those at and above p99, in
points; p99 over that of all; how many of the stated 95 % intervals hold what all requests say; and
the cost, as the tracer in windows measured it. Needs root and the servers; kept under
bench/trace/runs.

    .venv/bin/python bench/trace/accuracy.py [--duration 60] [--only memcache] [--cost 2%]
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).parent
servers = SimpleNamespace(**runpy.run_path(str(HERE.parent / "servers.py")))
RATES = {"memcache": 40_000, "http": 10_000, "resp": 40_000}  # requests/s, about half of a CPU
SETTLE_S = 2.0


def url(protocol: str, port: int) -> str:
    return f"{protocol}://127.0.0.1:{port}" + ("/4k" if protocol == "http" else "")


def load(bin_dir: Path, protocol: str, port: int, duration_s: float) -> subprocess.Popen[bytes]:
    """An open-loop client on CPU 1."""
    words = f"--rate {RATES[protocol]} --connections 64 --cpus 1 --wait sleep --warmup 1s"
    fill = [] if protocol == "http" else ["--preload", "--items", "1000"]
    return subprocess.Popen(
        [str(bin_dir / "sojourn-load"), url(protocol, port), *fill, *words.split(),
         "--duration", f"{duration_s:.0f}s"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


def traced(protocol: str, args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """What each tracer says of one server: results by name."""
    ways = {
        "all": ["--records", str(folder / f"{protocol}.parquet")],
        "windows": ["--cost", args.cost],
        "sample": ["--sample", args.sample],
    }
    with servers.started(protocol, 0) as (pid, port):
        client = load(args.bin, protocol, port, args.duration + 3 * SETTLE_S + 5)
        time.sleep(SETTLE_S)
        ours = [str(args.bin / "sojourn-trace"), "--pid", str(pid)]
        length = ["--duration", f"{args.duration}s"]
        tracers = {
            name: subprocess.Popen(
                ["taskset", "-c", "1", *ours, *length, *words, "--json", str(folder / name)],
                stdout=subprocess.DEVNULL,
            )
            for name, words in ways.items()
        }
        for tracer in tracers.values():
            tracer.wait()
        client.kill()
        client.wait()
    return {name: json.loads((folder / name).read_text()) for name in tracers}


def shares(result: dict[str, Any]) -> dict[str, float]:
    """Share of each stage in the time of all requests, or of a tail."""
    return {stage["name"]: stage["share"] for stage in result["stages"]}


def compared(part: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """One tracer that saw a part against the one that saw all."""
    mean, tail = shares(whole), shares(whole["tail"])
    found = part["sampling"]["accuracy"]
    held, stated = 0, 0
    for stage in found["stages"]:
        for interval, truth in (
            (stage["share"], mean.get(stage["name"])),
            (stage["tail_share"], tail.get(stage["name"])),
        ):
            if interval and truth is not None and truth >= 0.01:
                stated += 1
                held += interval["low"] <= truth <= (interval["high"] or 1.0)
    p99, interval = whole["total"]["p99_ns"], found["p99_ns"]
    cost = part["sampling"]["cost"]
    return {
        "verdict": part["verdict"],
        "requests": part["matched"],
        "of": whole["matched"],
        "clusters": found["clusters"],
        "unmatched_share": part["unmatched_share"],
        "share_error_max": max(abs(v - mean[k]) for k, v in shares(part).items()),
        "tail_share_error_max": max(abs(v - tail[k]) for k, v in shares(part["tail"]).items()),
        "p99_ratio": part["total"]["p99_ns"] / p99,
        "p99_interval": interval,
        "p99_held": bool(interval and interval["low"] <= p99 <= (interval["high"] or 1e18)),
        "intervals_held": f"{held} of {stated}",
        "cost": cost,
    }


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--duration", type=int, default=60)
    parser.add_argument("--cost", default="2%")
    parser.add_argument("--sample", default="1/64")
    parser.add_argument("--only", action="append", choices=RATES)
    parser.add_argument("--runs", type=Path, default=HERE / "runs")
    args = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
        for protocol in args.only or RATES:
            results = traced(protocol, args, Path(folder))
            whole = results.pop("all")
            found[protocol] = {
                "all": {"verdict": whole["verdict"], "p99_ns": whole["total"]["p99_ns"]},
                **{name: compared(part, whole) for name, part in results.items()},
            }
            print(json.dumps({protocol: found[protocol]}, indent=2), flush=True)
    args.runs.mkdir(parents=True, exist_ok=True)
    kept = args.runs / f"accuracy-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{socket.gethostname()}.json"
    command = ["bench/trace/accuracy.py", *sys.argv[1:]]
    about = {"command": command, "kernel": os.uname().release, "found": found}
    kept.write_text(json.dumps(about) + "\n")
    print(f"kept in {kept}")


if __name__ == "__main__":
    main()
