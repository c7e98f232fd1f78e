"""Noise that is planted in a real service, and what `sojourn noise` makes of it.

Usage: .venv/bin/python bench/compare/planted_noise.py [--starts 12] [--rate 200] [--out DIR]

`sojourn-serve` with a fixed service time of 1 ms is started again and again. Planted are starts
that differ by 5 %, a ramp of 1 % a start, and stalls (`planted_start.py`). A row is one of these
sessions, with whether the planted size lies in the interval of its part. The machine's own noise
comes on top; the first row is that alone.
"""

from __future__ import annotations

import argparse
import csv
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from planted_start import RAMP, STARTS

from sojourn import pipeline, run
from sojourn.analysis import noise
from sojourn.spec.sides import repeated
from sojourn.units import show_s

KINDS = ("nothing", "starts", "ramp", "stalls")
RUN_S = 6.0


class Quiet:
    """Watches nothing."""

    def opened(self, record: object, facts: object) -> None: ...

    def event(self, event: object) -> None: ...

    def began(self, point: object, outcomes: object) -> None: ...

    def ended(self, outcome: object, outcomes: object) -> None: ...


def session(kind: str, namespace: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure one kind; a row."""
    start = Path(__file__).resolve().with_name("planted_start.py")
    words = [sys.executable, "-IS", str(start), shutil.which("sojourn-serve"), kind, str(folder)]
    argv = f"{shlex.join(map(str, words))} {{port}}"
    side = {"kind": "command", "params": {"argv": argv, "target": "memcache://{host}:{port}",
                                          "ready": "tcp"}}  # fmt: skip
    study = repeated(
        side, rate=str(namespace.rate), starts=namespace.starts, measure_s=RUN_S, name="noise"
    )
    done = pipeline.run_study(study, folder / "results", Quiet(), resume=False,
                              patience=run.Patience(is_forced=True))  # fmt: skip
    parts = noise.noise(done.findings, 2 * (RUN_S + 1.3))
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
            row["is in the interval"] = "" if ends is None else ends.lo <= size <= ends.hi
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--starts", type=int, default=12)
    parser.add_argument("--rate", type=int, default=200, help="requests/s")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--out", type=Path, help="folder for rows.csv")
    args = parser.parse_args()
    kinds = args.kinds.split(",")
    print(f"about {show_s(len(kinds) * args.starts * (RUN_S + 1.3))}")
    rows = []
    with tempfile.TemporaryDirectory(prefix="sojourn-planted-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        for kind in kinds:
            rows.append(session(kind, args, folder))
            print("\n".join(f"{key}: {value}" for key, value in rows[-1].items()), flush=True)
            if args.out:
                write(args.out, rows)


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
