"""What 1 to 1,000 clients cost the lab's host for each point, by simulation.

Usage: .venv/bin/python bench/hosts/many.py [--counts 1,10,100,1000] [--points 3]

The driver is the real one and speaks its real protocol; clients are imagined (a fake): each hands
over a result that the real generator wrote once. An answer takes 0.55 ms, as over Ray on one
machine. What Ray itself costs for each call is not in it. Each count is a process of its own, and
its first point is not counted, because modules are loaded in it. Rows and a figure are stored in
`bench/runs`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from sojourn.hosts.fleet import Fleet
from sojourn.hosts.simulated_testing import Imaginary, Model
from sojourn.hosts.testing import Notes
from sojourn.run.clients import Load
from sojourn.run.generator_job import Files
from sojourn.spec.hosts import HostsSpec

RUNS = Path(__file__).parents[1] / "runs"
JOB = {
    "target": "null:",
    "rate": "2000",
    "duration": "3s",
    "warmup": "0.2s",
    "connections": 4,
    "wait": "sleep",
    "seed": 3,
    "outage_over": "10s",
    "timely_within": "10s",
}
CPU_S, MEMORY_MB, AFTER_S = 1.0, 200.0, 3.0  # targets


@dataclass(frozen=True, slots=True)
class Row:
    """One point. `memory_mb`: the most that the process ever had."""

    clients: int
    cpu_s: float
    after_s: float
    memory_mb: float
    calls: int


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--counts", default="1,10,100,1000")
    parser.add_argument("--points", type=int, default=3)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps([asdict(row) for row in points(asked.one, asked.points)]))
        return 0
    rows: list[Row] = []
    for count in asked.counts.split(","):
        words = [sys.executable, __file__, "--one", count, "--points", str(asked.points)]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        rows += [Row(**row) for row in json.loads(done.stdout)]
        print(rows[-1], flush=True)
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-hosts-many.json"
    table = {"kernel": os.uname().release, "load": os.getloadavg()[0]}
    path.write_text(json.dumps({**table, "rows": [asdict(row) for row in rows]}, indent=1))
    path.with_suffix(".svg").write_text(figure(rows))
    most = [row for row in rows if row.clients == max(one.clients for one in rows)]
    is_reached = all(
        row.cpu_s <= CPU_S and row.memory_mb <= MEMORY_MB and row.after_s <= AFTER_S for row in most
    )
    print(f"rows are in {path.name}; targets {'reached' if is_reached else 'missed'}")
    return 0 if is_reached else 1


def points(count: int, times: int) -> list[Row]:
    """Some points of so many clients, without the first."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["SOJOURN_STATE"] = str(folder / "state")
        engine = Imaginary(count, Model.measured(folder, JOB))
        rate, connections = f"{2000 * count}", 4 * count
        job = {**JOB, "rate": rate, "connections": connections, "hlog": str(folder / "load.hlog")}
        with Fleet(HostsSpec(at="auto"), engine) as fleet:
            for nth in range(times + 1):
                cpu_s, hosts_s = time.process_time(), engine.meter.hosts_cpu_s
                engine.meter.calls = 0
                fleet.offer([Load(job, 1, Files.named(folder, "load"))], Notes())
                after_s = time.monotonic() - engine.meter.ended_s
                own_s = time.process_time() - cpu_s - (engine.meter.hosts_cpu_s - hosts_s)
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                row = Row(count, own_s, after_s, memory, engine.meter.calls)
                rows += [row] if nth else []
    return rows


def figure(rows: list[Row]) -> str:
    """Three panels by the number of clients, which is on a logarithmic axis; targets dashed."""
    panels = (
        ("CPU time of the lab's host for a point, s", "cpu_s", CPU_S),
        ("time after the last client, s", "after_s", AFTER_S),
        ("memory of the driver, MB", "memory_mb", MEMORY_MB),
    )
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 260" font-size="12">',
        '<rect width="900" height="260" fill="white"/>',
    ]
    counts = sorted({row.clients for row in rows})
    span = max(1.0, math.log10(counts[-1] / counts[0]))
    for nth, (title, key, target) in enumerate(panels):
        left, top = 300 * nth + 45, 40
        most = 1.15 * max(target, *(getattr(row, key) for row in rows))
        at_y = [(value, top + 180 * (1 - value / most)) for value in (0, target)]
        parts.append(f'<text x="{left}" y="22">{title}</text>')
        for value, y in at_y:
            dash = ' stroke-dasharray="5 4"' if value else ""
            parts.append(f'<path d="M{left} {y:.1f}h240" stroke="#888"{dash}/>')
            parts.append(f'<text x="{left - 5}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
        for count in counts:
            x = left + 10 + 220 * math.log10(count / counts[0]) / span
            parts.append(f'<text x="{x:.1f}" y="240" text-anchor="middle">{count:,}</text>')
            for row in (row for row in rows if row.clients == count):
                y = top + 180 * (1 - getattr(row, key) / most)
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#1f5fa8"/>')
    parts.append('<text x="450" y="256" text-anchor="middle">clients (imagined)</text></svg>')
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
