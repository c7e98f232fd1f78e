"""What service waits are put down to, of real servers, beside a truth that was planted.

A request cannot be answered before a planted time has gone by in one place: behind a proxy
(HAProxy, NGINX, twemproxy), in a database, under a lock, in a pool, in pages that are not in
memory. Right is what finds that time in the stage of that place, with most of what is no wait for a
CPU, and little work. There are a 32-bit server, one of io_uring, and one in a container, too. The
way that cannot see io_uring must say so. Servers that are not
there are left out, and named.

    bench/wire/usual/setup && sudo .venv/bin/python bench/trace/waits.py [--seconds 4] [--only NAME]

Prints a table; exit 1 if a row is wrong. Raw results are kept under bench/trace/runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from waiting.plants import PLANTS, UNPLANTED, Plant
from waiting.servers import PLANTED_MS

HERE = Path(__file__).parent
RATE = 40  # requests/s, one at a time
SHORT = 0.9  # of what was planted: timers may be early by a tick, and the first bytes late
WORK_MAX = 0.25  # of the time, where the server waits


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    way: str
    planted_ms: float
    seen_ms: float
    found_ms: float
    work: float
    verdict: str
    answer: str
    is_right: bool
    stages_ms: dict[str, float] = field(default_factory=dict)


def measured(plant: Plant, way: tuple[str, ...], args: argparse.Namespace) -> Row:
    """One server, traced while it is asked."""
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="sojourn-waits-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = plant.start(stack, folder)
        load = ["sojourn-load", *server.asked, "--rate", str(RATE), "--connections", "1"]
        load += ["--duration", f"{args.seconds + 2}s", "--warmup", "200ms", "--json", "-"]
        load += ["--outage-over", "10s", "--timely-within", "1s"]
        client = subprocess.Popen(load, stdout=subprocess.PIPE, text=True)
        time.sleep(0.7)
        tracer = [*server.within, shutil.which("sojourn-trace") or "", "--pid", str(server.pid)]
        done = subprocess.run(
            [*tracer, *way, "--duration", f"{args.seconds}s", "--json", "-"],
            check=False,
            capture_output=True,
            text=True,
            timeout=args.seconds + 60,
        )
        seen = json.loads(client.communicate(timeout=args.seconds + 60)[0])
    if not done.stdout:
        raise RuntimeError(done.stderr[-400:])
    return judged(plant, way, json.loads(done.stdout), seen)


def judged(plant: Plant, way: tuple[str, ...], traced: Any, seen: Any) -> Row:
    stages = {one["name"]: one["mean_ns"] / 1e6 for one in traced["stages"]}
    work = sum(one["share"] for one in traced["causes"] if one["cause"] == "work")
    result = sum(ms for name, ms in stages.items() if set(name.split("+")) & set(plant.stages))
    seen_ms = (seen["wire_ns"]["p50"] or 0) / 1e6
    planted = 0.0 if plant.name in UNPLANTED else PLANTED_MS
    # Other work on the machine makes threads wait for a CPU, which is no one's plant.
    whole = traced["total"]["mean_ns"] / 1e6
    rest = whole - stages.get("runq_delay", 0.0)
    is_right = result >= SHORT * planted and result > plant.share * rest
    is_right &= work * whole > 0.5 * rest if plant.is_work else work < WORK_MAX
    if way == plant.blind:
        verdict = traced["verdict"]
        text = json.dumps([verdict, traced.get("notes", [])])
        is_right = verdict["verdict"] == "unknown" and "--sample" in text and plant.name in text
    is_right &= traced["matched"] > 0.9 * traced["requests"] > 0
    return Row(
        plant.name,
        " ".join(way),
        planted,
        seen_ms,
        result,
        work,
        traced["verdict"]["verdict"],
        traced["answer"],
        bool(is_right),
        {k: v for k, v in stages.items() if v > 0.001},
    )


def line(row: Row) -> str:
    times = f"planted {row.planted_ms:.1f} ms, client {row.seen_ms:.2f}, found {row.found_ms:.2f}"
    text = f"{row.verdict}: {'right' if row.is_right else 'WRONG'}"
    return f"{row.name:20} {row.way:14} {times}, work {row.work:.1%}, {text}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--only", default="", help="plants whose name holds this")
    args = parser.parse_args()
    programs = os.environ.get("SOJOURN_BIN") or Path(sys.executable).parent
    os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    rows, left = [], []
    for plant in PLANTS:
        if args.only not in plant.name:
            continue
        if not plant.needs.exists():
            left.append(f"{plant.name}: not installed (bench/wire/usual/setup)")
            continue
        for way in plant.ways:
            try:
                rows.append(measured(plant, way, args))
            except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
                left.append(f"{plant.name}, {' '.join(way)}: {error}")
                continue
            print(line(rows[-1]), flush=True)
    print(*(f"left out: {one}" for one in left), sep="\n")
    when = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    selected = {"when": when, "kernel": os.uname().release, "rows": [asdict(row) for row in rows]}
    (HERE / "runs" / f"{when}-waits.json").write_text(
        json.dumps({**selected, "left_out": left}, indent=1)
    )
    return 0 if rows and all(row.is_right for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
