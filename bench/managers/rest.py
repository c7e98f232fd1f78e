"""How often our rule acts on a service at which nothing happens, in many simulated hours.

Usage: .venv/bin/python bench/managers/rest.py [--hours 5] [--seed 30]

Latencies never change; the true p99 is some slack below the target. Late requests are drawn as
counts, which is all that `posterior` reads. Printed are changes an hour after the first one, which
makes the job's group idle, and their upper bound of 95 % by Poisson's distribution. Rows are stored
in `bench/runs`.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from scipy.stats import chi2

from sojourn.models.league import stationary

KEPT = Path(__file__).parents[1] / "runs"
RATES, SLACKS = (1000.0, 50_000.0), (0.0, 0.05, 0.10)


def main() -> int:
    asked = arguments()
    rows = []
    print("| rate | slack | changes an hour | at most (95 %) |\n|---|---|---|---|")
    for rate in RATES:
        for slack in SLACKS:
            looks = stationary.counts(rate, slack, asked.hours * 3600, asked.seed)
            per_h = stationary.actuations_per_h("posterior", looks)
            count = round(per_h * asked.hours)
            most = float(chi2.ppf(0.95, 2 * (count + 1))) / 2 / asked.hours
            rows.append({"rate_rps": rate, "slack": slack, "changes": count, "most_per_h": most})
            print(f"| {rate / 1000:g}k/s | {slack:.0%} | {per_h:.2f} | {most:.2f} |", flush=True)
    path = KEPT / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-rest.json"
    about = {"hours": asked.hours, "seed": asked.seed}
    path.write_text(json.dumps({**about, "rows": rows}, indent=1))
    print(f"rows: {path.name}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=5.0, help="simulated, of each cell (5)")
    parser.add_argument("--seed", type=int, default=30, help="of the draws (30)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
