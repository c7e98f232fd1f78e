"""Make a record of some 10,000 points through the lab's own plan and store.

Usage: .venv/bin/python bench/campaign/make.py RESULTS [--points 10000]

A record that is there already is gone on with; so the last points may be made by another version.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from sojourn import plan, spec, store
from sojourn.questions import PLANS
from sojourn.record.summarised import summarise

sys.path.insert(0, str(Path(__file__).parent))
import simulate

STUDY = Path(__file__).with_name("campaign.toml")
SAY_EVERY = 500  # points


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--points", type=int, default=10_000)
    asked = parser.parse_args()
    print(make(asked.results, asked.points))
    return 0


def make(results: Path, points: int) -> Path:
    """Go on until there are as many points; the record's folder."""
    study = spec.load(STUDY)
    planner = plan.Planner(study, PLANS)
    services = simulate.Simulated()
    began_s = time.monotonic()
    with store.open(results, study, machine="simulated") as record:
        while len(record.outcomes()) < points:
            point = planner.next(record.outcomes())
            if point is None:
                break
            folder = record.folder(point)
            outcome = services.measure(point, folder)
            stored = record.add(replace(outcome, wall_s=point.measure_s + 1.0))
            summarise(folder, stored, study)
            if (done := len(record.outcomes())) % SAY_EVERY == 0:
                print(f"{done} points, {time.monotonic() - began_s:.0f} s", file=sys.stderr)
        return record.path


if __name__ == "__main__":
    sys.exit(main())
