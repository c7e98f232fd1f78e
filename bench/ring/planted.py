"""Are the requests of planted stalls in the black box, with the culprit that was planted?

memcached (one thread) on CPU 0, an open-loop client on CPU 1, `sojourn-trace --ring` beside them.
Stalls of 1 to 50 ms come at random times, of two kinds in random order: the server is stopped by a
signal (`stop`), or a task of real-time priority computes on its CPU (`neighbour`). The client's own
record of every request is the truth, less those that it excludes because it was stopped itself: a
request that took longer than the bound by both ends, in a stall, must be in the dump, with the
planted culprit in the first place. Prints a table; the exit code is 1 if less than nine tenths are.
Needs root, memcached, two CPUs. Rows: bench/ring/results.

    .venv/bin/python bench/ring/planted.py [--rate 1000] [--stalls 60] [--seconds 100] [--seed 1]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

HERE = Path(__file__).parent
OVER_NS = 5_000_000
MARGIN = 1.1  # the client's time has its own wake-up in it: near the bound the ends may disagree
NEAR_NS = 3_000_000  # both ends see a request's reply so close to each other
NEIGHBOUR = "ring-neighbour"
SERVER_CPU, CLIENT_CPU = "0", "1"
MEMCACHED = ("-u", "root", "-l", "127.0.0.1", "-U", "0", "-t", "1", "-m", "64")


def neighbour() -> None:
    """Compute on the server's CPU for as many ms as a line of standard input has."""
    ctypes.CDLL(None).prctl(15, NEIGHBOUR.encode(), 0, 0, 0)  # PR_SET_NAME
    os.sched_setaffinity(0, {int(SERVER_CPU)})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    print("ready", flush=True)
    for line in sys.stdin:
        until = time.monotonic_ns() + int(float(line) * 1e6)
        while time.monotonic_ns() < until:
            pass


def wait_for(word: str, lines: Iterable[str] | None) -> None:
    """Until a line has the word."""
    any(word in line for line in lines or ())


def plan(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Kinds, places and lengths, drawn before the run; stalls lie 60 ms apart at least."""
    rng = random.Random(args.seed)  # noqa: S311 - a schedule, no secret
    slot = args.seconds / args.stalls
    kinds = ["stop", "neighbour"] * (args.stalls // 2) + ["stop"] * (args.stalls % 2)
    rng.shuffle(kinds)
    return [
        {"at_s": (number + rng.uniform(0.05, 0.9)) * slot, "ms": rng.uniform(1, 50), "kind": kind}
        for number, kind in enumerate(kinds)
    ]


def stall(one: dict[str, Any], pid: int, other: subprocess.Popen[str]) -> None:
    """Plant one, and note when."""
    one["from_unix_ns"] = time.time_ns()
    if one["kind"] == "stop":
        os.kill(pid, signal.SIGSTOP)
        time.sleep(one["ms"] / 1e3)
        os.kill(pid, signal.SIGCONT)
    else:
        print(one["ms"], file=other.stdin, flush=True)
        time.sleep(one["ms"] / 1e3)
    one["to_unix_ns"] = time.time_ns()


def dumps(folder: Path) -> set[Path]:
    """Whole dumps: the file without a second ending is written last."""
    return {it for it in (folder / "dumps").glob("*.json") if "." not in it.stem}


def run(
    args: argparse.Namespace, folder: Path
) -> tuple[list[dict[str, Any]], dict[str, Any], Path]:
    """The stalls as they were, the dump, and the client's requests."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["taskset", "-c", SERVER_CPU, "memcached", *MEMCACHED, "-p", str(port)]
    )
    other = subprocess.Popen(
        [sys.executable, str(Path(__file__)), "--neighbour"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    tracer: subprocess.Popen[str] | None = None
    try:
        wait_for("ready", other.stdout)
        time.sleep(0.5)
        tracer = subprocess.Popen(
            [
                str(args.programs / "sojourn-trace"),
                "--ring",
                "--pid",
                str(server.pid),
                "--over",
                "5ms",
                "--last",
                f"{args.seconds + 60}s",
                "--pause",
                "1h",
                "--dumps",
                str(folder / "dumps"),
                "--dumps-size",
                "4GiB",
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for("watching", tracer.stderr)
        raw, result = folder / "raw.parquet", folder / "load.json"
        load = subprocess.Popen(
            [
                str(args.programs / "sojourn-load"),
                f"memcache://127.0.0.1:{port}",
                "--preload",
                "--rate",
                str(args.rate),
                "--duration",
                f"{args.seconds}s",
                "--cpus",
                CLIENT_CPU,
                "--connections",
                "64",
                "--raw",
                str(raw),
                "--raw-max",
                "10M",
                "--json",
                str(result),
            ],
            stderr=subprocess.DEVNULL,
        )
        time.sleep(3)  # preload and warm-up
        began, stalls = time.monotonic(), plan(args)
        for one in stalls:
            time.sleep(
                max(0.0, began + one["at_s"] * (args.seconds - 5) / args.seconds - time.monotonic())
            )
            stall(one, server.pid, other)
        load.wait()
        before = dumps(folder)
        tracer.send_signal(signal.SIGUSR1)
        while not (now := dumps(folder) - before):
            time.sleep(0.1)
        return stalls, json.loads(now.pop().read_text()), raw
    finally:
        for process in (tracer, other, server):
            if process:
                process.terminate()
                process.wait()


def truth(raw: Path, result: Path, stalls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Requests that took longer than the bound in a stall, as the client saw them."""
    start = json.loads(result.read_text())["started_unix_ns"]
    columns = ["sent_ns", "first_byte_ns", "done_ns", "excluded"]
    rows = pq.read_table(raw, columns=columns).to_pydict()
    listed = []
    for sent, first, done, is_excluded in zip(*rows.values(), strict=True):
        end = first if first is not None else done
        if is_excluded or sent is None or end is None or end - sent < OVER_NS * MARGIN:
            continue
        for one in stalls:
            if start + sent < one["to_unix_ns"] and start + end > one["from_unix_ns"]:
                listed.append({"sent": start + sent, "end": start + end, "stall": one})
                break
    return sorted(listed, key=lambda it: it["end"])


def named(dump: dict[str, Any], request: dict[str, Any]) -> tuple[str, str]:
    """Kind and name of what took the most of its time."""
    culprit = dump["culprits"][request["culprits"][0][0]]
    return culprit["kind"], culprit["name"]


def is_right(kind: str, listed: tuple[str, str]) -> bool:
    return listed[0] == "stopped" if kind == "stop" else listed == ("task", NEIGHBOUR)


def match(dump: dict[str, Any], wanted: list[dict[str, Any]]) -> None:
    """Give each wanted request one of the dump that began and ended with it; none serves two."""
    here = sorted(dump["slow"], key=lambda it: it["start_unix_ns"] + it["total_ns"])
    ends = [it["start_unix_ns"] + it["total_ns"] for it in here]
    used, first = set(), 0
    for one in wanted:
        while first < len(here) and ends[first] < one["end"] - NEAR_NS:
            first += 1
        best, at = NEAR_NS, first
        while at < len(here) and ends[at] <= one["end"] + NEAR_NS:
            far = abs(here[at]["start_unix_ns"] - one["sent"])
            if at not in used and far < best:
                best, one["listed"] = far, at
            at += 1
        if "listed" in one:
            used.add(one["listed"])
            one["named"] = named(dump, here[one["listed"]])


def main() -> int:
    """Run, compare, write the rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--stalls", type=int, default=60)
    parser.add_argument("--seconds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=Path, default=HERE.parent.parent / "target/release")
    parser.add_argument("--neighbour", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.neighbour:
        neighbour()
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stalls, dump, raw = run(args, folder)
        wanted = truth(raw, folder / "load.json", stalls)
    match(dump, wanted)
    rows = []
    for one in stalls:
        mine = [it for it in wanted if it["stall"] is one]
        rows.append(
            {
                "kind": one["kind"],
                "ms": round(one["ms"], 3),
                "requests": len(mine),
                "stored": sum("listed" in it for it in mine),
                "named": sum("named" in it and is_right(one["kind"], it["named"]) for it in mine),
            }
        )
    answer = {
        "rate": args.rate,
        "seconds": args.seconds,
        "seed": args.seed,
        "requests": dump["requests"],
        "blind": dump["blind"],
        "stalls": rows,
    }
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    file = HERE / "results" / f"{stamp}-planted-{args.rate}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(answer, indent=1) + "\n")
    shares = []
    for kind in ("stop", "neighbour"):
        mine = [row for row in rows if row["kind"] == kind and row["requests"]]
        n, stored, right = (
            sum(row[key] for row in mine) for key in ("requests", "stored", "named")
        )
        shares.append(right / n if n else 1.0)
        print(
            f"{kind:10} {len(mine):3} stalls {n:7} requests {stored:7} stored {right:7} named",
            end=" ",
        )
        print(f"{shares[-1]:.1%}")
    print(f"blind rate that the dump states: {dump['blind']['share']:.2%}; rows: {file.name}")
    return int(min(shares) < 0.9)


if __name__ == "__main__":
    sys.exit(main())
