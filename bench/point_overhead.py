"""What a point takes beside its load: start, fill, warm, stop; and how much of a study is load.

Usage: .venv/bin/python bench/point_overhead.py [STUDY …] [--profile quick]

Runs each study (by default one of memcached and one of NGINX), and reads its record: the time of a
point beyond its warm-up and its load, the steps of the service's start by themselves, and the share
of all points' time that is load, with the load that warms caches before it. The machine should be
quiet. Rows are stored in bench/runs/<UTC>-point-overhead.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sojourn
from sojourn.run import fill

HERE = Path(__file__).parent
STUDIES = ("max_load_memcached", str(HERE / "search" / "max_load_nginx.toml"))


def measured(study: str, profile: str) -> dict[str, Any]:
    """Run a study, and what its points took; s."""
    with tempfile.TemporaryDirectory(prefix="sojourn-overhead-") as name:
        words = ["run", study, "--profile", profile, "--quiet", "--results", name]
        code = subprocess.run([Path(sys.executable).parent / "sojourn", *words], check=False)
        if code.returncode not in {0, 1, 3}:
            sys.exit(f"error: {study} ended with {code.returncode}")
        (record,) = (path.parent for path in Path(name).glob("*/*/*/manifest.json"))
        points = sojourn.open(record).points
        steps = [
            json.loads(path.read_text())["took_s"] for path in record.glob("points/*/service.json")
        ]
    load_s = points["measure_s"] + points["warmup_s"]
    return {
        "study": Path(study).stem,
        "points": len(points),
        "beyond_load_s": (points["wall_s"] - load_s).round(3).tolist(),
        "load_share": float(load_s.sum() / points["wall_s"].sum()),
        "with_warming": float((load_s + fill.FIRST_S).sum() / points["wall_s"].sum()),
        "steps_s": {
            step: statistics.median(one.get(step, 0.0) for one in steps) for step in steps[0]
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("studies", nargs="*", default=STUDIES, metavar="STUDY")
    parser.add_argument("--profile", default="quick")
    asked = parser.parse_args()
    rows = [measured(study, asked.profile) for study in asked.studies]
    for row in rows:
        beyond_s = statistics.median(row["beyond_load_s"])
        print(f"{row['study']}: {beyond_s:.2f} s a point beyond its load, steps {row['steps_s']}")
        print(f"  load {row['load_share']:.0%} of the time, {row['with_warming']:.0%} with warming")
    at = HERE / "runs" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-point-overhead.json"
    at.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"rows: {at.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
