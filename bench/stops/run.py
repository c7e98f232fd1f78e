"""What planted stops of the client do to a number whose truth is known (METHOD M33).

Usage: .venv/bin/python bench/stops/run.py [--rounds 4] [--seconds 10]

The synthetic service serves 200 µs (exponential), so p99 of the sojourn time is S ln 100/(1 − ρ)
plus the way through the kernel. A real-time task takes the client's CPU for 0 to 12 % of the time
(`hog.py`). Shares and loads take turns within a round, so that what the machine does in a minute
meets all of them. Stops of the service, which is part of the instrument here, are excluded too. The
way through the kernel is the p50 of a service of 1 µs at a low load.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from hog import planted
from measure import CLIENT_CPU, SERVER_CPU
from servers import await_port, free_port

BIN = Path(os.environ.get("SOJOURN_BIN") or Path(sys.executable).parent)
KEPT = Path(__file__).parents[1] / "runs"
SERVICE_S = 200e-6
SHARES = (0.0, 0.01, 0.03, 0.06, 0.12)
LOADS = (0.3, 0.5, 0.8)


def main() -> int:
    asked = arguments()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="sojourn-stops-") as name:
        out = Path(name) / "load.json"
        with serving("fixed:1us") as server:
            way_s = run(server, 500.0, 3, out, seed=1)["sojourn_ns"]["p50"] / 1e9
        with serving("exponential:200us") as server:
            for number in range(asked.rounds):
                for share in SHARES:
                    for load in LOADS:
                        with planted([CLIENT_CPU], share, seed=number):
                            rate = load / SERVICE_S
                            result = run(server, rate, asked.seconds, out, seed=number + 1)
                        rows.append(row(number, share, load, way_s, result))
                        print(words(rows[-1]), flush=True)
    print(table(rows))
    path = KEPT / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-stops.json"
    path.write_text(json.dumps({"way_s": way_s, "rows": rows}, indent=1) + "\n")
    print(f"kept in {path}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=4, help="runs of each share and load (4)")
    parser.add_argument("--seconds", type=int, default=10, help="length of a run, s (10)")
    return parser.parse_args()


@contextlib.contextmanager
def serving(law: str) -> Iterator[tuple[int, int]]:
    """The synthetic service on the server's CPU; yields its port and process."""
    port = free_port()
    line = ["nice", "-n", "-15", str(BIN / "sojourn-serve"), "--cpus", str(SERVER_CPU),
            "--protocol", "echo", "--service", law, "--port", str(port)]  # fmt: skip
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            await_port(port)
            yield port, process.pid
        finally:
            process.terminate()


def run(
    server: tuple[int, int], rate: float, seconds: int, out: Path, *, seed: int
) -> dict[str, Any]:
    """One run of the generator on its CPU; stops of the service count as the instrument's."""
    port, pid = server
    out.unlink(missing_ok=True)
    line = ["nice", "-n", "-15", BIN / "sojourn-load", f"echo://127.0.0.1:{port}",
            "--rate", f"{rate:.0f}", "--duration", f"{seconds}s", "--connections", "64",
            "--seed", str(seed), "--wait", "spin", "--cpus", str(CLIENT_CPU),
            "--instrument-cpus", str(SERVER_CPU), "--server-cpus", str(SERVER_CPU),
            "--server-pid", str(pid), "--json", out]  # fmt: skip
    subprocess.run(
        [str(word) for word in line],
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=seconds + 60,
    )
    return dict(json.loads(out.read_text()))


def row(
    number: int, share: float, load: float, way_s: float, result: dict[str, Any]
) -> dict[str, Any]:
    theory_s = SERVICE_S * math.log(100) / (1 - load) + way_s
    p99_ns = result["sojourn_ns"]["p99"]
    keys = ("share_time", "share_excluded", "allowance")
    return {
        "round": number,
        "share": share,
        "load": load,
        "p99_of_theory": None if p99_ns is None else p99_ns / 1e9 / theory_s,
        "verdict": result["verdict"],
        "reasons": result["reasons"],
        **{key: result["outages"].get(key) for key in keys},
    }


def words(one: dict[str, Any]) -> str:
    why = f" ({one['reasons'][0][:70]})" if one["reasons"] else ""
    seen, excluded = (share_text(one[key]) for key in ("share_time", "share_excluded"))
    ratio = (
        "no p99" if one["p99_of_theory"] is None else f"p99 {one['p99_of_theory']:.3f} of theory"
    )
    return (
        f"{one['share']:4.0%} planted, {seen} seen, {excluded} excluded, load {one['load']}: "
        f"{ratio}, {one['verdict']}{why}"
    )


def share_text(share: float | None) -> str:
    """A run that broke off has no shares."""
    return "   –" if share is None else f"{share:5.1%}"


def table(rows: list[dict[str, Any]]) -> str:
    """Median of p99 over theory where a number is given, and how many runs gave one."""
    lines = ["planted  " + "  ".join(f"load {load:<12}" for load in LOADS)]
    for share in SHARES:
        cells = []
        for load in LOADS:
            mine = [r for r in rows if (r["share"], r["load"]) == (share, load)]
            given = [
                r["p99_of_theory"]
                for r in mine
                if r["verdict"] != "unknown" and r["p99_of_theory"] is not None
            ]
            middle = f"{statistics.median(given):.2f}" if given else "–"
            cells.append(f"{middle:>5} ({len(given)} of {len(mine)})".ljust(17))
        lines.append(f"{share:7.0%}  " + "  ".join(cells))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
