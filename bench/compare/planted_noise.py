"""Noise that is planted in a real service, and what `sojourn noise` makes of it.

Usage: .venv/bin/python bench/compare/planted_noise.py [--sessions 10] [--starts 12] [--rate 200]
       [--run-s 3] [--out DIR]

`sojourn-serve` with a fixed service time of 1 ms is started again and again. Planted are starts
that differ by 5 %, a ramp of 1 % a start, and stalls (`planted_start.py`). A row is one of these
sessions, with whether the planted size lies in the interval of its part. What stalls do to the p99
of windows is not planted as a number: there the truth is what the other sessions with stalls have
within a run, so at least two are needed. The machine's own noise comes on top; a session without a
plant is that alone.
"""

from __future__ import annotations

import argparse
import csv
import math
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import exact
from planted_start import RAMP, STARTS

from sojourn import pipeline, run
from sojourn.analysis import noise
from sojourn.spec.sides import repeated
from sojourn.units import show_s

KINDS = ("nothing", "starts", "ramp", "stalls")
WINDOWS = "p99 windows"
HIT = "is in the interval"


class Quiet:
    """Watches nothing."""

    def opened(self, record: object, facts: object) -> None: ...

    def event(self, event: object) -> None: ...

    def began(self, point: object, outcomes: object) -> None: ...

    def ended(self, outcome: object, outcomes: object) -> None: ...


def session(kind: str, number: int, namespace: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure one kind once more; a row."""
    folder /= str(number)
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    start = Path(__file__).resolve().with_name("planted_start.py")
    words = [sys.executable, "-IS", str(start), shutil.which("sojourn-serve"), kind, str(folder)]
    argv = f"{shlex.join(map(str, words))} {{port}}"
    params = {"argv": argv, "target": "memcache://{host}:{port}", "ready": "tcp"}
    side = {"kind": "command", "params": {**params, "warm_requests": 100, "items": 100}}
    study = repeated(
        side,
        rate=str(namespace.rate),
        starts=namespace.starts,
        measure_s=namespace.run_s,
        name="noise",
    )
    done = pipeline.run_study(study, folder / "results", Quiet(), resume=False,
                              patience=run.Patience(is_forced=True))  # fmt: skip
    parts = noise.noise(done.findings, 2 * (namespace.run_s + 1.3))
    row: dict[str, Any] = {"planted": kind, "starts": namespace.starts, "rate": namespace.rate}
    for name, of in (parts.components if parts else {}).items():
        for part in ("starts", "windows", "drift") if of else ():
            one = getattr(of, part)
            row[f"{name} {part}"] = f"{one.sigma:.4f}"
            row[f"{name} {part} interval"] = f"{one.interval.lo:.4f} to {one.interval.hi:.4f}"
        if of and name == "p50":
            row["slope interval"] = f"{of.slope_interval.lo:.5f} to {of.slope_interval.hi:.5f}"
            planted = {"starts": (of.starts.interval, STARTS), "ramp": (of.slope_interval, RAMP)}
            ends, size = planted.get(kind, (None, 0.0))
            row[HIT] = "" if ends is None else ends.lo <= size <= ends.hi
    return row


def with_stalls(rows: list[dict[str, Any]]) -> None:
    """Hold the windows of each session with stalls against those of all others."""
    stalled = [row for row in rows if row["planted"] == "stalls" and WINDOWS in row]
    for row in stalled if len(stalled) > 1 else ():
        others = [float(one[WINDOWS]) for one in stalled if one is not row]
        truth = math.sqrt(sum(one**2 for one in others) / len(others))
        low, high = map(float, row[f"{WINDOWS} interval"].split(" to "))
        row["truth of windows"], row[HIT] = f"{truth:.4f}", low <= truth <= high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=10, help="of each kind")
    parser.add_argument("--starts", type=int, default=12, help="of a session")
    parser.add_argument("--rate", type=int, default=200, help="requests/s")
    parser.add_argument("--run-s", type=float, default=3.0, help="length of a run, s")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--out", type=Path, help="folder for rows.csv")
    args = parser.parse_args()
    kinds = args.kinds.split(",")
    print(f"about {show_s(len(kinds) * args.sessions * args.starts * (args.run_s + 1.3))}")
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="sojourn-planted-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        for number in range(args.sessions):
            for kind in kinds:
                rows.append(session(kind, number, args, folder))
                with_stalls(rows)
                print(f"{number + 1}, {kind}: {rows[-1].get(HIT, 'nothing known')}", flush=True)
                if args.out:
                    write(args.out, rows)
    for kind in kinds:
        hits = [row[HIT] for row in rows if row["planted"] == kind and row.get(HIT, "") != ""]
        if hits:
            low, high = exact.interval(sum(hits), len(hits))
            print(f"{kind}: {sum(hits)} of {len(hits)} ({low:.0%} to {high:.0%})")


def write(folder: Path, rows: list[dict[str, Any]]) -> None:
    """All rows so far."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "rows.csv").open("w", newline="") as file:
        columns = dict.fromkeys(key for row in rows for key in row)
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
