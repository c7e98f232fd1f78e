"""What one static setting does: memcached beside a neighbour on its CPU, one arm per setting.

Usage: sudo .venv/bin/python bench/managers/static.py [--rounds 3] [--seconds 4] [--rate 20000]

memcached (one thread) and a neighbour share CPU 0; the generator spins on CPU 1. Each arm sets one
thing: nothing, an idle group, weight 2, quotas of 50 and 20 % with periods of 100 and 5 ms, or
real-time priority for memcached. Order is random within a round. Rows are kept in `bench/runs`; the
table has the median of each arm's p99, its 95 % interval by order statistics of all its requests
(M10; requests depend on each other, so it is too narrow), the range over runs, and the CPU that the
neighbour had.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

from groups import APART, CLIENT, MOUNT, NEIGHBOUR, SERVICE, Arm, cpu_s, groups, load, started
from measure import CLIENT_CPU, SERVER_CPU
from servers import await_port

from sojourn.places import ports
from sojourn.stats.quantiles import ranks

KEPT = Path(__file__).parents[1] / "runs"
SPIN = (sys.executable, "-IS", "-c", "while True: pass")
XZ = ("sh", "-c", "exec xz -9 -T1 -c < /dev/urandom > /dev/null")
NEIGHBOURS = {"spin": SPIN, "xz": XZ}
FIFO = 50


def quota(us: int, period_us: int) -> tuple[tuple[str, str, str], ...]:
    """Files of a quota of the neighbour's group, the period first."""
    return (("b", "cpu.cfs_period_us", str(period_us)), ("b", "cpu.cfs_quota_us", str(us)))


ARMS = (
    Arm("nothing", groups=APART),
    Arm("idle", groups=APART, files=(("b", "cpu.idle", "1"),)),
    Arm("weight 2", groups=APART, files=(("b", "cpu.shares", "20"),)),
    Arm("quota 50 %, 100 ms", groups=APART, files=quota(50_000, 100_000)),
    Arm("quota 50 %, 5 ms", groups=APART, files=quota(2_500, 5_000)),
    Arm("quota 20 %, 100 ms", groups=APART, files=quota(20_000, 100_000)),
    Arm("quota 20 %, 5 ms", groups=APART, files=quota(1_000, 5_000)),
    Arm("real-time"),
)
ALONE = Arm("alone", is_alone=True)


def main() -> int:
    asked = arguments()
    if not (MOUNT / "cpu.shares").exists():
        print(f"needs the cpu controller of control groups, version 1, at {MOUNT}", file=sys.stderr)
        return 2
    cells = [("none", ALONE), *((name, arm) for name in NEIGHBOURS for arm in ARMS)]
    order, rows = random.Random(30), []  # noqa: S311
    for number in range(asked.rounds):
        for name, arm in order.sample(cells, len(cells)):
            rows.append({"round": number, "neighbour": name, "arm": arm.name})
            rows[-1].update(measured(name, arm, asked, number))
            print(line(rows[-1]), flush=True)
    print(table(cells, rows))
    path = KEPT / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-static.json"
    about = {"kernel": os.uname().release, "rate": asked.rate, "seconds": asked.seconds}
    path.write_text(json.dumps({**about, "load_before": asked.load_before, "rows": rows}, indent=1))
    print(f"kept in {path.name}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of each arm (3)")
    parser.add_argument("--seconds", type=int, default=4, help="length of a run, s (4)")
    parser.add_argument("--rate", type=float, default=20_000.0, help="requests/s (20000)")
    asked = parser.parse_args()
    asked.load_before = os.getloadavg()[0]
    return asked


def measured(name: str, arm: Arm, asked: argparse.Namespace, seed: int) -> dict[str, Any]:
    """One run: p99 with its interval, n, what the neighbour had, and the generator's verdict."""
    with contextlib.ExitStack() as stack:
        root = stack.enter_context(groups(arm))
        port, beside = ports.free(), None
        server = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-t", "1", "-U", "0"]
        server += ["-u", "nobody"]
        service = stack.enter_context(started(server, SERVICE, arm, root, SERVER_CPU))
        await_port(port)
        if arm.name == "real-time":
            for task in Path(f"/proc/{service.pid}/task").iterdir():
                os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(FIFO))
        if not arm.is_alone:
            words = list(NEIGHBOURS[name])
            beside = stack.enter_context(started(words, NEIGHBOUR, arm, root, SERVER_CPU))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        words = [*load(asked, port, folder / "load.json", seed)]
        words += ["--raw", str(folder / "raw.parquet")]
        began, used = time.monotonic(), cpu_s(beside)
        with started(words, CLIENT, arm, root, CLIENT_CPU) as client:
            client.wait(asked.seconds + 60)
        share = (cpu_s(beside) - used) / (time.monotonic() - began)
        result = json.loads((folder / "load.json").read_text())
        times = pq.read_table(folder / "raw.parquet", columns=["intended_ns", "done_ns"])
    return {
        **quantile(times),
        "neighbour_cpus": share,
        "verdict": result["verdict"],
        "reasons": result["reasons"],
    }


def quantile(times: Any) -> dict[str, Any]:
    """p99 of all requests with its interval, us; one that was never answered is infinite."""
    done, intended = (
        times[key].to_numpy(zero_copy_only=False) for key in ("done_ns", "intended_ns")
    )
    sojourn = np.sort(np.where(done > 0, done - intended.astype(float), np.inf)) / 1e3
    n = len(sojourn)
    low, high = ranks(n, 0.99)
    at = (round(0.99 * n), low, min(high, n))
    p99, lo, hi = (float(sojourn[max(1, rank) - 1]) for rank in at)
    return {"n": n, "p99_us": p99, "lo_us": lo, "hi_us": hi}


def line(row: dict[str, Any]) -> str:
    return (
        f"{row['round']}  {row['neighbour']:5} {row['arm']:20} p99 {row['p99_us']:7.0f} µs "
        f"[{row['lo_us']:.0f}, {row['hi_us']:.0f}]  n {row['n']}  "
        f"neighbour {row['neighbour_cpus']:.2f} CPU  {row['verdict']}"
    )


def table(cells: list[tuple[str, Arm]], rows: list[dict[str, Any]]) -> str:
    lines = ["| neighbour | setting | p99, µs (median run, 95 %) | range | n a run | kept, CPU |"]
    lines.append("|---|---|---|---|---|---|")
    for name, arm in cells:
        own = [row for row in rows if (row["neighbour"], row["arm"]) == (name, arm.name)]
        own.sort(key=lambda row: float(row["p99_us"]))
        middle = own[len(own) // 2]
        value = statistics.median(row["neighbour_cpus"] for row in own)
        lines.append(
            f"| {name} | {arm.name} | {middle['p99_us']:.0f} ({middle['lo_us']:.0f}–"
            f"{middle['hi_us']:.0f}) | {own[0]['p99_us']:.0f}–{own[-1]['p99_us']:.0f} "
            f"| {middle['n']} | {value:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
