"""p99 at half load, with each tracer and without."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
from pathlib import Path

from tracers import NICE, Memcached, Start, attach, stop

TRIES = 3


def half_load(
    server: Memcached, kinds: dict[str, Start], bin_dir: Path, rounds: int, rps: float
) -> dict[str, list[float]]:
    """Client's p99 sojourn time at `rps`, ns, with each tracer and without, in random turns.

    0: the machine stopped client or server meanwhile, in each of `TRIES` runs.
    """
    p99: dict[str, list[float]] = {name: [] for name in ["none", *kinds]}
    words = f"--preload --items 1000 --rate {rps:.0f} --connections 64 --cpus 1 --wait spin"
    words += " --server-cpus 0 --warmup 0.3s --duration 3s --json -"
    command = [*NICE.split(), str(bin_dir / "sojourn-load"), f"memcache://127.0.0.1:{server.port}"]
    order = random.Random(1)  # noqa: S311 - an order, no secret
    for name in [name for _ in range(rounds) for name in order.sample(list(p99), len(p99))]:
        process = attach(kinds[name], server) if name in kinds else None
        p99[name].append(undisturbed_p99([*command, *words.split()]))
        if process:
            stop(process)
    return p99


def undisturbed_p99(command: list[str]) -> float:
    """p99 of the first run in which neither client nor server was stopped, ns; 0: none was."""
    for _ in range(TRIES):
        run = subprocess.run(command, capture_output=True, check=False)
        result = json.loads(run.stdout)
        if not any("stopped: " in reason for reason in result["reasons"]):
            return float(result["sojourn_ns"]["p99"])
    return 0.0


def p99_ratios(p99: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Each tracer over none in the same round: least, median and most."""
    found: dict[str, dict[str, float]] = {}
    for name, each in p99.items():
        pairs = [pair for pair in zip(each, p99["none"], strict=True) if all(pair)]
        if not pairs:
            continue
        over = [with_it / without for with_it, without in pairs]
        found[name] = {
            "rounds": len(pairs),
            "p99_ns": statistics.median(with_it for with_it, _ in pairs),
            "ratio": statistics.median(over),
            "ratio_min": min(over),
            "ratio_max": max(over),
        }
    return found
