"""ns per run of each hook of `sojourn-trace`, on a saturated memcached.

In every round and for each way to trace, in another order each time: a phase without a tracer, one
with it, and one with it while the kernel measures BPF programs (`--hook-cost`, which asks for that
with BPF_ENABLE_STATS: it ends with the tracer, and no sysctl is touched). By hook: ns per run, runs
per reply, and both together as a share of the CPU time that a reply takes without a tracer.

**What these ns leave out.** The kernel reads its clock just before and just after the program.
Entry and exit of the tracepoint or trampoline are outside, and so is what programs do to caches and
branches of others; one reading of the clock is inside. What the server really loses is the last
line: its CPU time per reply with the tracer, not measured, less without. And runs are those of all
CPUs: a client's system calls and packets run hooks too, which the server does not pay.

    .venv/bin/python bench/trace/hooks.py [--rounds 8] [--only all]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import socket
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from run import QUIET_RPS, saturate
from tracers import NICE, Memcached, Start, attach, result_of, result_path, stop, tracer

HERE = Path(__file__).parent
PHASE_S, SETTLE_S = 3.0, 0.3
WAYS = {
    "all": ["--all"],
    "sample 1/64": ["--sample", "1/64"],
    "sample 1/64, all stages": ["--sample", "1/64", "--all-stages"],
    "blame": ["--all", "--blame"],
}


@dataclass(frozen=True, slots=True)
class Row:
    """One hook in one phase: its runs, and ns per run as the kernel measures them."""

    hook: str
    runs: int
    run_ns: float


@dataclass(frozen=True, slots=True)
class Round:
    """One way to trace in one round.

    Attributes:
        rps: replies a second without a tracer, with it, and with it while programs are measured.
        cpu_ns: the server's CPU time per reply, ns, in the same order.
        replies: of the last phase, while the hooks were attached.
    """

    way: str
    rps: tuple[float, float, float]
    cpu_ns: tuple[float, float, float]
    replies: int
    rows: tuple[Row, ...]


def starts(bin_dir: Path, scratch: Path, name: str) -> tuple[Start, Start]:
    """The tracer, and the tracer whose programs are measured."""
    words = [*NICE.split(), str(bin_dir / "sojourn-trace"), "--pid", "{pid}", "--duration", "600s"]
    words += WAYS[name]  # it goes first as server and client do, or it would never attach
    measured = ["--hook-cost", "--json", str(result_path(name, scratch))]
    return tracer(words), tracer([*words, *measured])


def one(server: Memcached, name: str, bin_dir: Path, scratch: Path) -> Round:
    """Three phases."""
    plain, measured = starts(bin_dir, scratch, name)
    time.sleep(SETTLE_S)
    seen = [server.window(PHASE_S)]
    process = attach(plain, server)
    time.sleep(SETTLE_S)
    seen.append(server.window(PHASE_S))
    stop(process)
    process = attach(measured, server)
    before = server.gets()
    seen.append(server.window(PHASE_S))
    replies = server.gets() - before
    stop(process)
    result = result_of(name, scratch)
    if result is None:
        raise RuntimeError(f"{name}: the tracer left no result")
    rows = tuple(
        Row(hook["name"], hook["runs"], hook["run_ns"]) for hook in result["hooks"] if hook["runs"]
    )
    rps, cpu_ns = zip(*seen, strict=True)
    return Round(name, rps, cpu_ns, replies, rows)


def table(rounds: list[Round]) -> dict[str, Any]:
    """Medians over the rounds of one way to trace.

    ns per run are of all rounds. What is said per reply is of those in which the server was asked
    all the time, and null without any: else most runs are for other processes of the machine.
    """
    sound = [each for each in rounds if min(each.rps) > QUIET_RPS]
    results: dict[str, Any] = {"rounds": len(rounds), "sound": len(sound)}
    hooks: dict[str, dict[str, float | None]] = {}
    for name in dict.fromkeys(row.hook for each in rounds for row in each.rows):
        per_reply = [
            (row.runs / each.replies, row.runs * row.run_ns / each.replies / each.cpu_ns[0])
            for each in sound
            for row in each.rows
            if row.hook == name
        ]
        run_ns = [row.run_ns for each in rounds for row in each.rows if row.hook == name]
        hooks[name] = {
            "ns_per_run": statistics.median(run_ns),
            "ns_per_run_min": min(run_ns),
            "ns_per_run_max": max(run_ns),
            "runs_per_reply": median([runs for runs, _ in per_reply]),
            "share_of_reply": median([share for _, share in per_reply]),
        }
    results["hooks"] = dict(sorted(hooks.items(), key=lambda it: -(it[1]["share_of_reply"] or 0.0)))
    results["cpu_ns_per_reply"] = median([r.cpu_ns[0] for r in sound])
    results["cpu_ns_more"] = median([r.cpu_ns[1] - r.cpu_ns[0] for r in sound])
    results["cpu_ns_more_measured"] = median([r.cpu_ns[2] - r.cpu_ns[0] for r in sound])
    results["throughput_ratio"] = median([r.rps[1] / r.rps[0] for r in sound])
    return results


def median(values: list[float]) -> float | None:
    """None of none."""
    return statistics.median(values) if values else None


def lines(results: dict[str, dict[str, Any]]) -> list[str]:
    """A table per way to trace, in Markdown."""
    texts = []
    for name, each in results.items():
        head = f"{name}, {each['sound']} of {each['rounds']} rounds sound"
        texts += ["", f"| {head} | ns per run | runs per reply | share of a reply |"]
        texts.append("|---|---|---|---|")
        for hook, h in each["hooks"].items():
            ns = f"{h['ns_per_run']:.0f} ({h['ns_per_run_min']:.0f}–{h['ns_per_run_max']:.0f})"
            per_reply = "– | –"
            if h["runs_per_reply"] is not None:
                per_reply = f"{h['runs_per_reply']:.2f} | {100 * h['share_of_reply']:.1f} %"
            texts.append(f"| {hook} | {ns} | {per_reply} |")
        if each["sound"]:
            took, more = each["cpu_ns_per_reply"], each["cpu_ns_more"]
            texts.append(f"the server: {took:.0f} ns per reply without, {more:+.0f} ns with")
    return texts


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--only", action="append", choices=WAYS, help="this way; may be repeated")
    parser.add_argument("--runs", type=Path, default=HERE / "runs")
    args = parser.parse_args()
    names = [name for name in WAYS if name in (args.only or WAYS)]
    server, scratch = Memcached(), Path(tempfile.mkdtemp(prefix="sojourn-bench-"))
    order = random.Random(1)  # noqa: S311 - an order, no secret
    rounds: list[Round] = []
    load = saturate(server, args.bin)
    try:
        for _ in range(args.rounds):
            for name in order.sample(names, len(names)):
                if load.poll() is not None:
                    raise RuntimeError(f"the client ended with {load.returncode}")
                rounds.append(one(server, name, args.bin, scratch))
    finally:
        for process in (load, server.process):
            process.kill()
            process.wait()
        shutil.rmtree(scratch)
    results = {name: table([r for r in rounds if r.way == name]) for name in names}
    print("\n".join(lines(results)))
    args.runs.mkdir(parents=True, exist_ok=True)
    path = args.runs / f"hooks-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{socket.gethostname()}.json"
    about = {
        "command": ["bench/trace/hooks.py", *sys.argv[1:]],
        "kernel": os.uname().release,
        "load_average": os.getloadavg(),
        "found": results,
        "raw": [asdict(each) for each in rounds],
    }
    path.write_text(json.dumps(about) + "\n")
    print(f"kept in {path}")


if __name__ == "__main__":
    main()
