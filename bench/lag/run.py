"""Why a group that also runs elsewhere keeps its tail: the scheduler's lag at each wake-up.

Usage: .venv/bin/python bench/lag/run.py [--seconds 4] [--rounds 2] [ARM …]

Arms are those of bench/groups.py with a control group for the service. Beside each run a BPF
program reads at every wake-up of the service's group: its lag (V - v), the lag that it had stored,
its weight, and how long the service then waited. Needs root, clang, gcc, libbpf-dev, and the names
of fields in Linux 6.18.44.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import groups  # noqa: E402  # a neighbour in the benches' folder

ARMS = (
    "groups apart",
    "service 1/2",
    "service × 4",
    "group: service + client",
    "group: service + client, × 2",
)
COLUMNS = ("delay", "lag", "stored", "left", "weight", "running", "beside")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("arms", nargs="*", default=ARMS)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--rate", type=float, default=20_000.0)
    asked = parser.parse_args()
    by_name = {arm.name: arm for arm in groups.ARMS}
    with tempfile.TemporaryDirectory() as built:
        build(Path(built))
        rows = [
            {"arm": name, "round": turn, **measured(by_name[name], asked, turn, Path(built))}
            for turn in range(asked.rounds)
            for name in asked.arms
        ]
    path = groups.RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-lag.json"
    path.write_text(json.dumps({"kernel": os.uname().release, "rows": rows}, indent=1))
    print(table(rows), f"rows: {path}", sep="\n")
    return 0


def build(folder: Path) -> None:
    """Compile both programs into a folder."""
    clang = next(f"clang-{n}" for n in (19, 18, 17, 16, 14) if Path(f"/usr/bin/clang-{n}").exists())
    target = ["-O2", "-g", "-target", "bpf", "-D__TARGET_ARCH_x86"]
    include = [f"-I/usr/include/{os.uname().machine}-linux-gnu"]
    source, output = str(HERE / "lag.bpf.c"), str(folder / "lag.bpf.o")
    subprocess.run([clang, *target, *include, "-c", source, "-o", output], check=True)
    subprocess.run(["gcc", "-O2", str(HERE / "lag.c"), "-o", folder / "lag", "-lbpf"], check=True)


def measured(arm: groups.Arm, asked: argparse.Namespace, turn: int, built: Path) -> dict[str, Any]:
    """One run of an arm with the wake-ups of its service."""
    started, pids = groups.started, {}

    @contextlib.contextmanager
    def noted(
        words: list[str], who: str, arm: groups.Arm, root: Path, cpu: int
    ) -> Iterator[subprocess.Popen[bytes]]:
        with started(words, who, arm, root, cpu) as process:
            pids[who] = process.pid
            if who == groups.CLIENT:
                tracer = ["./lag", str(pids[groups.SERVICE]), str(asked.seconds)]
                with (built / "wakes").open("wb") as out:
                    pids["tracer"] = subprocess.Popen(tracer, cwd=built, stdout=out)
            yield process

    groups.started = noted
    try:
        row = groups.measured(arm, asked, turn)
    finally:
        groups.started = started
        code = pids["tracer"].wait(asked.seconds + 30) if "tracer" in pids else None
    if code != 0:
        sys.exit(f"error: the tracer ended with {code}\n  fix: see what it printed above")
    return {**row, **summary(np.loadtxt(built / "wakes", dtype=np.int64, ndmin=2))}


def summary(wakes: np.ndarray) -> dict[str, Any]:
    """Quantiles over the wake-ups beside a running neighbour; times in µs."""
    of = dict(zip(COLUMNS, wakes[wakes[:, COLUMNS.index("beside")] == 1].T, strict=True))
    behind = of["lag"] < 0
    return {
        "wakes": len(behind),
        "weight": float(np.median(of["weight"])),
        "lag_us": [float(v) / 1e3 for v in np.percentile(of["lag"], (1, 50, 99))],
        "not_eligible": float(behind.mean()),
        "waited_us": float(np.percentile(of["delay"], 99)) / 1e3,
        "waited_not_eligible_us": float(np.median(of["delay"][behind])) / 1e3
        if behind.any()
        else None,
    }


def table(rows: list[dict[str, Any]]) -> str:
    head = "| grouping | p99, µs | weight | lag at a wake-up, µs: p1, p50, p99 | not eligible |\n"
    lines = [
        f"| {row['arm']} | {row['p99_us']:.0f} | {row['weight']:.0f} "
        f"| {', '.join(f'{v:.0f}' for v in row['lag_us'])} | {100 * row['not_eligible']:.2f} % |"
        for row in sorted(
            rows, key=lambda row: ARMS.index(row["arm"]) if row["arm"] in ARMS else 99
        )
    ]
    return head + "|---|---|---|---|---|\n" + "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
