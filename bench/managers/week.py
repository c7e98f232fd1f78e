"""A simulated week of 24 cores: every controller beside the best fixed allocation.

Usage: .venv/bin/python bench/managers/week.py [--seeds 1] [--only NAME …] [--hours 168]
           [--look 1.0] [--join ROWS.json …]

The week is `sojourn.models.league.week`: days, a weekend, three crowds, and programs of L28 that
come and go. A rule looks once every `--look` seconds. The oracle is searched with seed 103, which
no controller plays. Printed are violated seconds, late requests, the batch work kept as a share of
the machine and of running alone, changes an hour, and the gain of `sojourn tco`. A controller takes
a minute or two for each seed. Rows are stored in `bench/runs`; `--join` makes one file of several,
and `sojourn tco --league FILE` reads it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn.models.league import play, rows_file, week
from sojourn.models.tco import Costs, used_gain

RUNS = Path(__file__).parents[1] / "runs"
ORACLE, ORACLE_SEED = "oracle", 103


def main() -> int:
    asked = arguments()
    if asked.join:
        files = [json.loads(path.read_text()) for path in asked.join]
        rows = [row for one in files for row in one["rows"]]
        about = {key: files[0][key] for key in ("hours", "begin_h", "look_s")}
        if any({key: one[key] for key in about} != about for one in files):
            print("the files are of different weeks", file=sys.stderr)
            return 2
    else:
        rows, about = played(asked)
    rows.sort(key=lambda row: ([ORACLE, *play.names()].index(row["controller"]), row["seed"]))
    print(table(rows))
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-week.json"
    path.write_text(json.dumps({"schema": rows_file.SCHEMA, **about, "rows": rows}, indent=1))
    print(f"rows: {path.name}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    names = [ORACLE, *play.names()]
    parser.add_argument("--seeds", type=int, default=1, help="runs of each (1)")
    parser.add_argument("--only", nargs="*", default=names, choices=names, help="controllers (all)")
    parser.add_argument("--begin-h", type=float, default=0.0, help="hours from Monday, 0 h (0)")
    parser.add_argument("--hours", type=float, default=168.0, help="length (168)")
    parser.add_argument("--look", type=float, default=week.LOOK_S, help="s between looks (1)")
    parser.add_argument("--join", nargs="*", type=Path, default=[], help="files to join")
    return parser.parse_args()


def played(asked: argparse.Namespace) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """All rows, and what week they are of."""
    part = week.scenario(asked.begin_h * week.HOUR_S, asked.hours * week.HOUR_S)
    inputs = week.oracle(ORACLE_SEED, part)[0] if ORACLE in asked.only else {}
    rows: list[dict[str, Any]] = []
    for seed in range(1, asked.seeds + 1):
        for name in asked.only:
            began = time.process_time()
            if name == ORACLE:
                row = week.row("static", seed, part, inputs, look_s=asked.look)
            else:
                row = week.row(name, seed, part, look_s=asked.look)
            setting = {"setting": dict(inputs)} if name == ORACLE else {}
            rows.append({**asdict(row), "controller": name, **setting})
            print(f"{name}, seed {seed}: {time.process_time() - began:.0f} s of CPU", flush=True)
    return rows, {"hours": asked.hours, "begin_h": asked.begin_h, "look_s": asked.look}


def table(rows: Sequence[dict[str, Any]]) -> str:
    columns = ("rule", "seed", "violated, s", "late", "late then", "changes/h", "job's share")
    columns = (*columns, "of alone", "TCO gain")
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for row in rows:
        cells = [
            row["controller"],
            f"{row['seed']}",
            f"{row['violated_s']:,}",
            f"{row['late']:.3%}",
            f"{row['depth']:.1%}",
            f"{row['actuations_per_h']:.1f}",
            f"{row['kept']:.3f}",
            f"{row['kept'] / row['alone']:.1%}",
            f"{used_gain(Costs(), row['busy'], row['kept']):.1%}",
        ]
        lines.append(f"| {' | '.join(cells).replace('%', ' %')} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
