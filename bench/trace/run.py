"""What `sojourn-trace` costs the service it looks at: ratios, with and without, interleaved.

memcached on CPU 0 counts its own replies (`cmd_get`) while a closed-loop client on CPU 1 keeps it
busy; phases without a tracer, with each tracer and without again take turns, and each is held
against its neighbours, so that what the machine does to one it does to the other. Two ratios:
throughput, and the server's CPU time per reply. At saturation one is the other's inverse, but CPU
time cares less about who else wants the CPU. Needs root, memcached; bpftrace if there is one. Raw
windows are kept under bench/trace/runs.

    .venv/bin/python bench/trace/run.py [--rounds 5] [--half-rps 40000]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from half import half_load, p99_ratios
from tracers import NICE, Memcached, attach, conditions, stop

HERE = Path(__file__).parent
WINDOW_S = 0.2
PHASE_S = 2.0
SETTLE_S = 0.3
QUIET_RPS = 20_000
Window = tuple[float, float]  # replies a second, CPU time per reply in ns


@dataclass(frozen=True, slots=True)
class Pair:
    """Windows with a tracer, and those just before and after without one."""

    plain: list[Window]
    traced: list[Window]


def saturate(server: Memcached, bin_dir: Path) -> subprocess.Popen[bytes]:
    """A closed-loop client that runs until it is killed."""
    words = "--preload --items 1000 --find-max --connections 64 --cpus 1 --wait sleep"
    words += " --warmup 1s --duration 600s"
    load = subprocess.Popen(
        [
            *NICE.split(),
            str(bin_dir / "sojourn-load"),
            f"memcache://127.0.0.1:{server.port}",
            *words.split(),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while server.window(0.5)[0] < 1000 and load.poll() is None:
        pass
    return load


def phase(server: Memcached, length_s: float) -> list[Window]:
    """Windows until `length_s` is over; those with next to no replies say nothing."""
    end = time.monotonic() + length_s
    windows = []
    while time.monotonic() < end:
        window = server.window(WINDOW_S)
        if window[0] > QUIET_RPS:
            windows.append(window)
    return windows


def saturated(
    server: Memcached, bin_dir: Path, scratch: Path, rounds: int
) -> dict[str, list[Pair]]:
    """Each tracer's phases, each between two without one; in every round in another order."""
    kinds = conditions(bin_dir, scratch)
    pairs: dict[str, list[Pair]] = {name: [] for name in kinds}
    order = random.Random(1)  # noqa: S311 - an order, no secret
    load = saturate(server, bin_dir)
    try:
        before = phase(server, PHASE_S)
        for name in [name for _ in range(rounds) for name in order.sample(list(kinds), len(kinds))]:
            process = attach(kinds[name], server)
            time.sleep(SETTLE_S)
            during = phase(server, PHASE_S)
            stop(process)
            time.sleep(SETTLE_S)
            after = phase(server, PHASE_S)
            if before and during and after:
                pairs[name].append(Pair([*before, *after], during))
            before = after
    finally:
        load.kill()
        load.wait()
    return pairs


def ratios(pairs: dict[str, list[Pair]]) -> dict[str, dict[str, float]]:
    """Each tracer over none, phase by phase: least, median and most of the rounds."""
    found: dict[str, dict[str, float]] = {}
    for name, rounds in pairs.items():
        if not rounds:
            continue
        rps = [middle(p.traced, 0) / middle(p.plain, 0) for p in rounds]
        cpu = [middle(p.traced, 1) / middle(p.plain, 1) for p in rounds]
        found[name] = {
            "rounds": len(rounds),
            "throughput_ratio": statistics.median(rps),
            "throughput_ratio_min": min(rps),
            "throughput_ratio_max": max(rps),
            "cpu_ratio": statistics.median(cpu),
            "cpu_ns_per_reply_more": statistics.median(
                middle(p.traced, 1) - middle(p.plain, 1) for p in rounds
            ),
        }
    return found


def middle(windows: list[Window], at: int) -> float:
    return statistics.median(window[at] for window in windows)


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--half-rps", type=float, help="compare p99 at this rate instead")
    parser.add_argument("--runs", type=Path, default=HERE / "runs")
    args = parser.parse_args()
    server = Memcached()
    scratch = Path(tempfile.mkdtemp(prefix="sojourn-bench-"))
    try:
        if args.half_rps:
            halves = half_load(server, args.bin, scratch, args.rounds, args.half_rps)
            raw: object = halves
            found = p99_ratios(halves)
        else:
            pairs = saturated(server, args.bin, scratch, args.rounds)
            found = ratios(pairs)
            raw = {name: [asdict(pair) for pair in each] for name, each in pairs.items()}
    finally:
        server.process.kill()
        server.process.wait()
        shutil.rmtree(scratch)
    print(json.dumps(found, indent=2))
    args.runs.mkdir(parents=True, exist_ok=True)
    kept = args.runs / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{socket.gethostname()}.json"
    about = {
        "command": ["bench/trace/run.py", *sys.argv[1:]],
        "kernel": os.uname().release,
        "found": found,
        "raw": raw,
    }
    kept.write_text(json.dumps(about) + "\n")
    print(f"kept in {kept}")


if __name__ == "__main__":
    main()
