"""How far windows and a sample of flows can be trusted, in two questions that are asked apart.

1. **Draw and estimator.** All requests of a server are recorded; windows and samples are drawn from
   the records again and again by the tracer's own code (`crates/trace/examples/redraw.rs`), and how
   often each stated 95 % interval holds what all records say is counted, number by number. No hook
   is in the way. "blind" are those that do not hold in draws that saw less than half of the tail.
2. **What hooks do.** The client alone says how long requests took that it sent while the tracer
   counted arrivals, against those it sent between windows: nothing but windows is attached. Beside
   it stands what the tracer itself estimates (`sampling.slowing`), and the same by milliseconds
   from a window's begin: what attaching leaves behind is seen there.

Two tracers at once, as was done before, mix both up: each slows what the other sees. Needs root,
the servers, `cargo build --release -p sojourn-trace --example redraw`; kept under bench/trace/runs.

    .venv/bin/python bench/trace/accuracy.py [--duration 30] [--only memcache] [--draws 100]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np

HERE = Path(__file__).parent
servers = SimpleNamespace(**runpy.run_path(str(HERE.parent / "servers.py")))
RATES = {"memcache": 40_000, "http": 10_000, "resp": 40_000}  # requests/s, about half of a CPU
SETTLE_S = 2.0
REDRAW = HERE.parent.parent / "target/release/examples/redraw"
OFFSETS_MS = (0, 1, 2, 5, 10, 20, 50, 200)
AFTER_NS = 5_000_000  # after a window, what it left behind is no "between"
QUANTILES = (0.5, 0.95, 0.99)


@contextmanager
def loaded(args: argparse.Namespace, protocol: str, folder: Path) -> Iterator[int]:
    """A server under steady load from a client on the other CPU, which logs every request."""
    words = f"--rate {RATES[protocol]} --connections 64 --cpus 1 --wait sleep --warmup 1s"
    words += f" --duration {args.duration + 2 * SETTLE_S + 1:.0f}s --raw-max 8M"
    fill = [] if protocol == "http" else ["--preload", "--items", "1000"]
    with servers.started(protocol, 0) as (pid, port):
        url = f"{protocol}://127.0.0.1:{port}" + ("/4k" if protocol == "http" else "")
        files = ["--json", str(folder / "load"), "--raw", str(folder / "raw.parquet")]
        with subprocess.Popen(
            [str(args.bin / "sojourn-load"), url, *fill, *words.split(), *files],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as client:
            time.sleep(SETTLE_S)
            yield pid
            client.wait()


def traced(args: argparse.Namespace, pid: int, folder: Path, *words: str) -> dict[str, Any]:
    """The tracer's result; it runs beside the client, where it disturbs the service least."""
    command = [str(args.bin / "sojourn-trace"), "--pid", str(pid), "--duration"]
    path = folder / "trace"
    subprocess.run(
        ["taskset", "-c", "1", *command, f"{args.duration}s", *words, "--json", str(path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,  # an unknown verdict is a result
    )
    results: dict[str, Any] = json.loads(path.read_text())
    return results


def redrawn(args: argparse.Namespace, protocol: str, folder: Path) -> dict[str, Any]:
    """How often each interval holds, by way to draw."""
    records = folder / "records.parquet"
    with loaded(args, protocol, folder) as pid:
        whole = traced(args, pid, folder, "--records", str(records), "--buffer", "256MiB")
    results: dict[str, Any] = {"verdict": whole["verdict"], "p99_ns": whole["total"]["p99_ns"]}
    for how in ("windows", "sample"):
        command = [str(REDRAW), str(records), how, str(args.draws)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        numbers = [json.loads(line) for line in lines.splitlines()]
        sums = {key: sum(it[key] for it in numbers) for key in ("held", "stated", "blind")}
        results[how] = {**sums, "numbers": numbers}
    return results


def times(took_ns: np.ndarray, which: np.ndarray) -> dict[str, Any]:
    """Mean and quantiles of some requests, ns."""
    took = took_ns[which]
    at = np.quantile(took, QUANTILES) if took.size else [None] * len(QUANTILES)
    named = {f"p{100 * q:g}_ns": value for q, value in zip(QUANTILES, at, strict=True)}
    return {"requests": int(took.size), "mean_ns": took.mean() if took.size else None, **named}


def slowed(args: argparse.Namespace, protocol: str, folder: Path) -> dict[str, Any]:
    """The client's times inside windows and between them, and what the tracer says of that."""
    with loaded(args, protocol, folder) as pid:
        since_boot = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()
        trace = traced(args, pid, folder)
    zero = json.loads((folder / "load").read_text())["started_unix_ns"] - since_boot
    log = folder / "raw.parquet"
    sql = f"select sent_ns, done_ns from '{log}' where done_ns is not null order by 1"  # noqa: S608
    columns = duckdb.sql(sql).fetchnumpy()
    sent, took = columns["sent_ns"] + zero, columns["done_ns"] - columns["sent_ns"]
    begin = trace["started_ns"]
    between = (sent >= begin) & (sent < begin + trace["duration_ns"])
    since = np.full(sent.size, -1.0)  # ms from the window's begin
    for place in trace["sampling"]["places"]:
        around = slice(
            *np.searchsorted(sent, [place["attached_ns"], place["detached_ns"] + AFTER_NS])
        )
        between[around] = False
        inside = slice(*np.searchsorted(sent, [place["started_ns"], place["ended_ns"]]))
        since[inside] = (sent[inside] - place["started_ns"]) / 1e6
    in_windows, outside = (times(took, which) for which in (since >= 0, between))
    return {
        "verdict": trace["verdict"],
        "slowing": trace["sampling"]["slowing"],
        "cost": trace["sampling"]["cost"],
        "windows": len(trace["sampling"]["places"]),
        "in_windows": in_windows,
        "between": outside,
        "ratio": {k: in_windows[k] / outside[k] for k in outside if k.endswith("_ns")},
        "by_offset_ms": {
            f"{low} to {high}": times(took, (since >= low) & (since < high))
            for low, high in itertools.pairwise(OFFSETS_MS)
        },
        "total": trace["total"],
        "accuracy": trace["sampling"]["accuracy"],
    }


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--duration", type=int, default=30)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--only", action="append", choices=RATES)
    parser.add_argument("--runs", type=Path, default=HERE / "runs")
    args = parser.parse_args()
    results: dict[str, Any] = {}
    for protocol in args.only or RATES:
        with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
            hooks = slowed(args, protocol, Path(folder))
            draws = redrawn(args, protocol, Path(folder))
        results[protocol] = {"draws": draws, "hooks": hooks}
        for how in ("windows", "sample"):
            held, stated, blind = (draws[how][key] for key in ("held", "stated", "blind"))
            print(f"{protocol}: {how} drawn: {held} of {stated} hold, {blind} do not and are blind")
            for it in draws[how]["numbers"]:
                report = (
                    f"{it['held']:4} of {it['stated']:4}, blind {it['blind']}, width {it['width']}"
                )
                print(f"  {it['name']:24} {report}")
        shown = {key: hooks[key] for key in ("ratio", "slowing", "verdict")}
        print(f"{protocol}: client in windows ÷ between: {json.dumps(shown, indent=2)}", flush=True)
    args.runs.mkdir(parents=True, exist_ok=True)
    path = args.runs / f"accuracy-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{socket.gethostname()}.json"
    command = ["bench/trace/accuracy.py", *sys.argv[1:]]
    about = {"command": command, "kernel": os.uname().release, "found": results}
    path.write_text(json.dumps(about) + "\n")
    print(f"kept in {path}")


if __name__ == "__main__":
    main()
