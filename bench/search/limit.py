"""How long a search must load at best, and how long ours does: both for an interval of ±10 %.

Usage: .venv/bin/python bench/search/limit.py RUNS.json [--probe-s 2] [--draws 200]
       .venv/bin/python bench/search/limit.py --record RECORD [--record RECORD …]

The best is a rule that knows the whole curve of misses, and does not know only where on it the
service is. It loads at the border alone, each start for --probe-s. It reads its runs as a load in
the better of two ways: each run's share of misses as a load, and then their mean; or the share of
all runs together, which rare stalls need. The limit is the least time after which a load read so
scatters by no more than an interval of 90 % of ±10 % allows. Scatter is that of groups of runs,
drawn again from --draws simulated ones. RUNS.json is what `run.py` wrote of ours; the time that
ours would need for ±10 % follows from its width, which falls with the root of the time.
Of a real service the curve is a line through ln(share) against ln(load), fitted to the search's own
runs with up to 10 % of misses; what they scatter about it is the spread.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import sojourn
from sojourn.analysis.queue import QUEUES, Queue
from sojourn.analysis.served import Served

TWO_SIDED = 2 * 1.645  # widths of 90 % intervals, in standard deviations
ASKED = math.log(1.1 / 0.9)
LOADS = np.linspace(0.3, 1.5, 61)  # of the border
GROUPS = 2_000
RUNS_MAX = 1_000
OVERLOAD = 0.1
NEAR_MIN = 6  # runs, for a line and its scatter
Floats = NDArray[np.float64]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("runs", nargs="?", type=Path, help="what run.py wrote")
    parser.add_argument("--record", action="append", default=[], help="of a real search")
    parser.add_argument("--probe-s", type=float, default=2.0, help="load of one start (2)")
    parser.add_argument("--draws", type=int, default=200, help="starts of each queue (200)")
    asked = parser.parse_args()
    print("service     ours: s   hi/lo   s for ±10 %   limit, s for ±10 %   ratio")
    if asked.runs:
        searches = json.loads(asked.runs.read_text())
        for queue in QUEUES:
            ours = [one for one in searches if one["queue"] == queue.name]
            closed = [one for one in ours if one["lo"] > 0 and math.isfinite(one["hi"])]
            width = statistics.median(math.log(one["hi"] / one["lo"]) for one in closed)
            load_s = statistics.median(one["measured_s"] for one in closed)
            limit_s = asked.probe_s * least_runs(queue, asked.probe_s, asked.draws)
            print(line(queue.name, load_s, width, limit_s))
    for record in asked.record:
        print(of_record(record))
    return 0


def line(name: str, load_s: float, width: float, limit_s: float) -> str:
    """One row; `width` is that of ours in ln(load)."""
    ours_s = load_s * (width / ASKED) ** 2
    return (
        f"{name:10}  {load_s:7.0f}   {math.exp(width):5.2f}   {ours_s:11.1f}   "
        f"{limit_s:18.1f}   {ours_s / limit_s:5.1f}"
    )


def least_runs(queue: Queue, probe_s: float, draws: int) -> int:
    """How many starts at the border are the fewest after which the load is known to ±10 %."""
    shares = np.array([_share(queue, load, 60.0, 7, 1.0) for load in LOADS])
    rising = np.maximum.accumulate(shares) + 1e-12 * np.arange(len(shares))
    seen = np.empty(draws)
    for seed in range(draws):
        rng = np.random.default_rng([11, seed])
        capacity = max(0.5, 1 + Served.restart_sd * rng.standard_normal())
        seen[seed] = _share(queue, 1.0, probe_s, 1_000 + seed, capacity)
    draw = np.random.default_rng(13)
    runs = 1
    while runs < RUNS_MAX and _scatter(seen, runs, rising, draw) > ASKED / TWO_SIDED:
        runs += max(1, runs // 20)
    return runs


def _scatter(seen: Floats, runs: int, rising: Floats, draw: np.random.Generator) -> float:
    """Standard deviation of the ln(load) that a group of runs is read as."""
    groups = draw.choice(seen, (GROUPS, runs))
    one_by_one = np.interp(groups, rising, np.log(LOADS)).mean(axis=1)
    together = np.interp(groups.mean(axis=1), rising, np.log(LOADS))
    return float(min(one_by_one.std(), together.std()))


def _share(queue: Queue, load: float, seconds: float, seed: int, capacity: float) -> float:
    """Share of misses of one run; `load` is a share of the border."""
    rng = np.random.default_rng(seed)
    rps = load * queue.border * queue.rate_rps
    _, sojourn_s = queue.run(rps, seconds, rng, capacity=capacity)
    return float((sojourn_s > queue.bound_s).mean())


def of_record(record: str) -> str:
    """The row of a real search; its runs near the border are the line."""
    opened = sojourn.open(record)
    points = opened.points[opened.points["is_believed"] & (opened.points["phase"] == "search")]
    (service,) = opened.findings.services
    border = service.sections["max_load"].border
    load, share = [], []
    for rps, n, over, alone in zip(
        *(points[name] for name in ("offered_rps", "requests", "over_bound", "undisturbed")),
        strict=True,
    ):
        load.append(rps)
        share.append(alone["over"] / alone["requests"] if alone else over / n)
    shares = np.array(share)
    near = (shares > 0) & (shares < OVERLOAD)
    if near.sum() < NEAR_MIN:
        return f"{service.label:10}  {near.sum()} of {len(near)} runs have a few misses: no line"
    x, y = np.log(np.array(load)[near]), np.log(shares[near])
    slope, at = np.polyfit(x, y, 1)
    spread = float(np.std(y - slope * x - at, ddof=2)) / slope
    width = math.log(border.interval_rps.hi / border.interval_rps.lo)
    runs = max(1.0, (TWO_SIDED * spread / ASKED) ** 2)
    probe_s = float(points["measure_s"].median())
    return line(service.label, border.measured_s, width, runs * probe_s)


if __name__ == "__main__":
    sys.exit(main())
