"""What `sojourn-trace` costs the service it looks at: ratios, with and without, interleaved.

memcached on CPU 0 counts its own replies (`cmd_get`) while a closed-loop client on CPU 1 keeps it
busy; phases without a tracer, with each tracer and without again take turns, and each is held
against its neighbours, so that what the machine does to one it does to the other. Two ratios:
throughput, and the server's CPU time per reply. At saturation one is the other's inverse, but CPU
time cares less about who else wants the CPU. Both are of whole phases (a tracer that works in
windows is attached for a few per cent of the time), and a phase in which the server had a CPU for
less than 0.9 of the time is left out, with its pair. Needs root, memcached; bpftrace if there is
one. Raw windows are kept under bench/trace/runs.

    .venv/bin/python bench/trace/run.py [--rounds 8] [--half-rps 40000] [--only windows --only all]
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

import half
from tracers import NICE, Memcached, Start, attach, conditions, stop

HERE = Path(__file__).parent
WINDOW_S = 0.2
PHASE_S = 3.0
SETTLE_S = 0.3
QUIET_RPS = 20_000
BUSY_MIN = 0.9
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
    server: Memcached, kinds: dict[str, Start], bin_dir: Path, rounds: int
) -> dict[str, list[Pair]]:
    """Each tracer's phases, each between two without one; in every round in another order."""
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
    results: dict[str, dict[str, float]] = {}
    for name, rounds in pairs.items():
        sound = [p for p in rounds if min(busy(p.traced), busy(p.plain)) > BUSY_MIN]
        if not sound:
            continue
        rps = sorted(replies(p.traced) / replies(p.plain) for p in sound)
        cpu = sorted(cpu_ns(p.traced) / cpu_ns(p.plain) for p in sound)
        results[name] = {
            "rounds": len(rounds),
            "sound": len(sound),
            "throughput_ratio": statistics.median(rps),
            "throughput_ratio_q1": quartile(rps, 0.25),
            "throughput_ratio_q3": quartile(rps, 0.75),
            "throughput_ratio_min": rps[0],
            "throughput_ratio_max": rps[-1],
            "cpu_ratio": statistics.median(cpu),
            "cpu_ratio_q1": quartile(cpu, 0.25),
            "cpu_ratio_q3": quartile(cpu, 0.75),
            "cpu_ns_per_reply_more": statistics.median(
                cpu_ns(p.traced) - cpu_ns(p.plain) for p in sound
            ),
        }
    return results


def replies(windows: list[Window]) -> float:
    """Replies a second over all windows, which are equally long."""
    return statistics.fmean(rps for rps, _ in windows)


def cpu_ns(windows: list[Window]) -> float:
    """CPU time per reply over all windows."""
    return sum(rps * ns for rps, ns in windows) / sum(rps for rps, _ in windows)


def busy(windows: list[Window]) -> float:
    """Share of the time in which the server had a CPU."""
    return replies(windows) * cpu_ns(windows) / 1e9


def quartile(values: list[float], q: float) -> float:
    """Linear between two neighbours, of sorted values."""
    at = q * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--only", action="append", help="this tracer; may be repeated")
    parser.add_argument("--half-rps", type=float, help="compare p99 at this rate instead")
    parser.add_argument("--runs", type=Path, default=HERE / "runs")
    args = parser.parse_args()
    server = Memcached()
    scratch = Path(tempfile.mkdtemp(prefix="sojourn-bench-"))
    kinds = conditions(args.bin, scratch)
    kinds = {name: start for name, start in kinds.items() if name in (args.only or kinds)}
    try:
        if args.half_rps:
            halves = half.half_load(
                server, kinds, args.rounds, rps=args.half_rps, paths=(args.bin, scratch)
            )
            raw: object = half.stored_rows(halves)
            result: object = half.p99_ratios(halves)
        else:
            pairs = saturated(server, kinds, args.bin, args.rounds)
            result = ratios(pairs)
            raw = {name: [asdict(pair) for pair in each] for name, each in pairs.items()}
    finally:
        server.process.kill()
        server.process.wait()
        shutil.rmtree(scratch)
    print(json.dumps(result, indent=2))
    args.runs.mkdir(parents=True, exist_ok=True)
    path = args.runs / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{socket.gethostname()}.json"
    about = {
        "command": ["bench/trace/run.py", *sys.argv[1:]],
        "kernel": os.uname().release,
        "found": result,
        "raw": raw,
    }
    path.write_text(json.dumps(about) + "\n")
    print(f"kept in {path}")


if __name__ == "__main__":
    main()
