"""How the lab keeps up with a campaign of 10,000 points: next point, resume, sql, report.

Usage: .venv/bin/python bench/campaign/run.py [--points 10000] [--results target/campaign]

The record is made first, or gone on with (`make.py`); each number is then taken in a process of its
own. Times are of the wall clock, with CPU time beside them for busy machines.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn import pipeline, plan, store
from sojourn.questions import PLANS

HERE = Path(__file__).parent
LAST = 200  # points whose planning is timed
QUERY = "select service, load, count(*), median(p99_ns) from outcomes group by all order by 1, 2"
TARGETS = {
    "next point, mean": 0.010,
    "next point, worst": 0.010,
    "resume": 5.0,
    "sql": 1.0,
    "report": 60.0,
}
RSS_MAX_MB = 1024


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--results", type=Path, default=HERE.parents[1] / "target" / "campaign")
    parser.add_argument("--part", choices=sorted(PARTS), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        print(json.dumps(PARTS[asked.part](asked.results)))
        return 0
    made = [HERE / "make.py", str(asked.results), "--points", str(asked.points)]
    subprocess.run([sys.executable, *map(str, made)], check=True)
    rows: list[dict[str, Any]] = []
    for part in PARTS:
        command = [sys.executable, __file__, "--part", part, "--results", str(asked.results)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{part} failed: {done.stderr.strip()[-500:]}", file=sys.stderr)
            continue
        rows += json.loads(done.stdout)
    print(table(rows))
    at = HERE / "runs" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    at.parent.mkdir(exist_ok=True)
    about = {"points": asked.points, "cpus": os.cpu_count(), "load": os.getloadavg(), "rows": rows}
    at.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return 0


def table(rows: list[dict[str, Any]]) -> str:
    lines = [f"{'':20} {'wall':>10} {'CPU':>10} {'target':>8} {'MB':>6}"]
    for row in rows:
        wanted = TARGETS[row["what"]]
        sign = "✓" if row["wall_s"] <= wanted and row["rss_mb"] <= RSS_MAX_MB else "✗"
        lines.append(
            f"{row['what']:20} {row['wall_s']:9.4f}s {row['cpu_s']:9.4f}s {wanted:7g}s"
            f" {row['rss_mb']:6.0f} {sign} {row.get('note', '')}"
        )
    return "\n".join(lines)


def took(what: str, began: tuple[float, float], note: str = "") -> dict[str, Any]:
    return row(what, time.monotonic() - began[0], time.process_time() - began[1], note)


def row(what: str, wall_s: float, cpu_s: float, note: str = "") -> dict[str, Any]:
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"what": what, "wall_s": wall_s, "cpu_s": cpu_s, "rss_mb": rss, "note": note}


def clock() -> tuple[float, float]:
    return time.monotonic(), time.process_time()


def path_of(results: Path) -> Path:
    return store.resolve(results, None)


def next_points(results: Path) -> list[dict[str, Any]]:
    """As the pipeline asks: one planner, one outcome more each time."""
    record = store.read(path_of(results))
    outcomes = tuple(record.outcomes())
    planner = plan.Planner(record.study, PLANS)
    times = []
    first = max(0, len(outcomes) - LAST)
    planner.next(outcomes[:first])
    for count in range(first + 1, len(outcomes) + 1):
        began = clock()
        planner.next(outcomes[:count])
        times.append((time.monotonic() - began[0], time.process_time() - began[1]))
    walls, cpus = zip(*times, strict=True)
    return [
        row("next point, mean", sum(walls) / len(walls), sum(cpus) / len(cpus), f"of {len(walls)}"),
        row("next point, worst", max(walls), max(cpus)),
    ]


def resume(results: Path) -> list[dict[str, Any]]:
    path = path_of(results)
    study = store.read(path).study
    began = clock()
    with store.open(results, study, machine=path.parent.name) as record:
        point = plan.Planner(study, PLANS).next(record.outcomes())
        note = f"{len(record.outcomes())} outcomes, then {point.key if point else 'complete'}"
    return [took("resume", began, note)]


def sql(results: Path) -> list[dict[str, Any]]:
    began = clock()
    _, rows = store.query(results, QUERY)
    return [took("sql", began, f"{len(rows)} rows")]


def report(results: Path) -> list[dict[str, Any]]:
    path = path_of(results)
    began = clock()
    pipeline.written(path)
    size = (path / "report.html").stat().st_size / 1e6
    return [took("report", began, f"page {size:.1f} MB")]


PARTS = {"next": next_points, "resume": resume, "sql": sql, "report": report}

if __name__ == "__main__":
    sys.exit(main())
