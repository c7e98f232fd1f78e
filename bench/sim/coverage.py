"""How often the intervals of `sojourn-sim queue` hold the closed form, over 50 seeds.

Usage: .venv/bin/python bench/sim/coverage.py [--seeds 50] [--requests 16M] [--only M/M/1]

A 95 % interval must hold the truth in 95 % of runs: not in fewer, and not by being too wide. For
each queue, load and number the table says in how many runs there was an interval, how many held
the closed form, and how wide they were over the width that the runs' own scatter asks for.

Two rules, both two-sided at 1 %. Hits: the binomial's region, of 50 runs 43 to 50; it rejects 33
and 39. By hits alone 50 of 50 cannot be rejected (chance: 8 %), so width is a rule of its own: the
mean half-width over t = 2.04 standard deviations of the runs' estimates lies in
1 ± 2.58/sqrt(2(n-1)), for 50 runs 0.74 to 1.26; intervals of twice the width fail it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NUMBERS = ("mean", "p50", "p90", "p95", "p99", "p999")
T_95, Z_99 = 2.04, 2.576  # 31 degrees of freedom, as the program's
ONE_SIDE = 0.005
QUEUES = (
    ("M/M/1", "exponential:1", 1, (0.5, 0.8, 0.9, 0.95)),
    ("M/D/1", "fixed:1", 1, (0.9,)),
    ("M/M/4", "exponential:1", 4, (0.9,)),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One number of one queue, over all seeds."""

    queue: str
    load: float
    number: str
    runs: int
    known: int
    hits: int
    width: float

    @property
    def verdict(self) -> str:
        """`holds`, `unknown` (not every run had an interval) or what is wrong."""
        if self.known < self.runs:
            return "unknown"  # a selection of runs is no fair sample
        low, high = accepted(self.runs)
        slack = Z_99 / math.sqrt(2 * (self.runs - 1))
        if not low <= self.hits <= high:
            return "WRONG HITS"
        return "holds" if abs(self.width - 1) <= slack or math.isnan(self.width) else "WRONG WIDTH"


def accepted(runs: int, p: float = 0.95) -> tuple[int, int]:
    """Fewest and most hits that the binomial allows, 0.5 % left out at either side."""
    mass = [math.comb(runs, k) * p**k * (1 - p) ** (runs - k) for k in range(runs + 1)]
    low = next(k for k in range(runs + 1) if sum(mass[: k + 1]) > ONE_SIDE)
    high = next(k for k in range(runs, -1, -1) if sum(mass[k:]) > ONE_SIDE)
    return low, high


def main() -> int:
    """Print the table; 1 if a row is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=50, help="runs of each queue (50)")
    parser.add_argument("--requests", default="16M", help="requests of each run (16M)")
    parser.add_argument("--only", default="", help="one queue, such as M/M/1")
    asked = parser.parse_args()
    rows: list[Row] = []
    low, high = accepted(asked.seeds)
    print(f"accepted: {low} to {high} of {asked.seeds} hits; {asked.requests} requests a run\n")
    print(f"{'queue':<7}{'load':>6}{'number':>8}{'known':>7}{'hits':>6}{'width':>7}  verdict")
    for name, service, servers, loads in QUEUES:
        for load in loads if asked.only in {"", name} else ():
            job = {"rate": repr(load * servers), "service": service, "servers": servers}
            found = runs({**job, "requests": asked.requests}, asked.seeds)
            for number in NUMBERS:
                row = judge(name, load, number, found)
                rows.append(row)
                print(
                    f"{row.queue:<7}{row.load:>6}{row.number:>8}{row.known:>7}{row.hits:>6}"
                    f"{row.width:>7.2f}  {row.verdict}",
                    flush=True,
                )
    return int(any(row.verdict.startswith("WRONG") for row in rows))


def runs(job: dict[str, Any], seeds: int) -> list[dict[str, Any]]:
    """Results of all seeds; only what is compared is kept."""

    def one(seed: int) -> dict[str, Any]:
        found = subprocess.run(
            [program(), "queue", "--job", "-", "--json", "-"],
            input=json.dumps({**job, "seed": seed}), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not found.stdout:
            sys.exit(f"error: {found.stderr}\n  at: bench/sim/coverage.py")
        result = json.loads(found.stdout)
        return {"intervals": result["intervals"], "closed": result["closed"]}

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(one, range(1, seeds + 1)))


def judge(queue: str, load: float, number: str, found: Sequence[dict[str, Any]]) -> Row:
    """One row of the table, from the results of all seeds."""
    known = [(r["intervals"][number], _closed(r, number)) for r in found]
    known = [(i, c) for i, c in known if i is not None]
    # A bin of the histogram is the least that an interval can tell: where a quantile is an atom.
    hits = sum(i["lo"] - 1e-3 * c <= c <= i["hi"] + 1e-3 * c for i, c in known)
    width = math.nan
    if len(known) > 2:
        half = statistics.fmean((i["hi"] - i["lo"]) / 2 for i, _ in known)
        scatter = statistics.stdev(i["mid"] for i, _ in known)
        is_atom = half < 1e-3 * known[0][1]
        width = math.nan if is_atom or scatter == 0 else half / (T_95 * scatter)
    return Row(queue, load, number, len(found), len(known), hits, width)


def _closed(result: dict[str, Any], number: str) -> float:
    exact = [c for c in result["closed"] if c["exact"] and c[number] is not None]
    return float(exact[0][number])


def program() -> str:
    return os.environ.get("SOJOURN_SIM", str(Path(sys.executable).with_name("sojourn-sim")))


if __name__ == "__main__":
    sys.exit(main())
