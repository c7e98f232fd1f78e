"""How soon each rule takes CPUs from the job after the load of the service rises at once.

Usage: .venv/bin/python bench/managers/reaction.py [--seeds 3]

A square wave in simulation: 25 and 80 % of the peak in turn, each for 30 s, on the eight cores of
`league.py`. Counted is the time from a step up to the first look after which the job may use fewer
CPUs than before the step. Looks come every 100 ms, so 0.1 s is the least. A rule that leaves the
job as it is for all of the half minute did not react; at its least level it cannot. It need not
either where the target holds at 80 %, as behind a cut that it has made before. So the steps are
counted apart after which more than 1 % of requests were late, in 5 s or until the cut if that is
sooner. Rows are stored in `bench/runs`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn.controllers.evidence import LATE
from sojourn.controllers.look import Look
from sojourn.models.league import play
from sojourn.models.league.scenarios import Scenario
from sojourn.models.league.sharing import BATCH, Shape

RUNS = Path(__file__).parents[1] / "runs"
HALF_S, LENGTH_S = 30.0, 600.0
SEEN_S = 5.0
UP_S = tuple(HALF_S + 2 * HALF_S * k for k in range(int(LENGTH_S / HALF_S / 2)))
SQUARE = Scenario(
    name="square",
    about="25 and 80 % of the peak in turn, half a minute each",
    length_s=LENGTH_S,
    load=lambda t_s: 0.8 if int(t_s // HALF_S) % 2 else 0.25,
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="runs of each rule (3)")
    parser.add_argument("--rules", nargs="*", default=play.names(), help="which (all)")
    asked, rows = parser.parse_args(), []
    print("| rule | steps | missed | reacted | after, s: median (range) | at most 0.2 s |")
    print("|---|---|---|---|---|---|")
    for name in asked.rules:
        own = [row for seed in range(1, asked.seeds + 1) for row in reactions(name, seed)]
        print(line(name, own), flush=True)
        rows += own
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-reaction.json"
    path.write_text(json.dumps({"seeds": asked.seeds, "seen_s": SEEN_S, "rows": rows}, indent=1))
    print(f"rows: {path.name}")
    return 0


def reactions(name: str, seed: int) -> list[dict[str, Any]]:
    """Of each step up: after what time the job may use less; None: it may not."""
    levels: list[tuple[float, float]] = []
    served: list[tuple[float, int, int]] = []  # until when, requests, late ones

    def note(look: Look, machine: play.Simulated) -> None:
        job = machine.now[BATCH]
        quota, own = job.quota, job.cores
        cores = Shape().cores
        may = min(cores if quota is None else quota, cores if own is None else own)
        levels.append((look.t_s, may))
        for group in look.critical.values():
            window = min(group.windows, key=lambda one: one.length_ms, default=None)
            if window is not None and not window.age_ms:
                served.append((look.t_s, window.n, window.above or 0))

    play.play(name, SQUARE, seed, see=note)
    results = []
    for up_s in UP_S:
        before = next(may for t_s, may in reversed(levels) if t_s <= up_s + 1e-6)
        behind = [t for t, may in levels if up_s + 1e-6 < t <= up_s + HALF_S and may < before]
        after_s = round(behind[0] - up_s, 1) if behind else None
        until_s = up_s + min(SEEN_S, after_s or SEEN_S)
        seen = [(n, late) for t_s, n, late in served if up_s + 1e-6 < t_s <= until_s + 1e-6]
        share = sum(late for _, late in seen) / max(1, sum(n for n, _ in seen))
        about = {"controller": name, "seed": seed, "up_s": up_s}
        results.append({**about, "after_s": after_s, "late_share": round(share, 5)})
    return results


def line(name: str, rows: list[dict[str, Any]]) -> str:
    times = [row["after_s"] for row in rows if row["after_s"] is not None]
    missed = sum(row["late_share"] > LATE for row in rows)
    if not times:
        return f"| {name} | {len(rows)} | {missed} | 0 | – | – |"
    soon = sum(one <= 0.2 for one in times) / len(rows)
    text = f"{statistics.median(times):.1f} ({min(times):.1f}–{max(times):.1f})"
    return f"| {name} | {len(rows)} | {missed} | {len(times)} | {text} | {soon:.0%} |".replace(
        "%", " %"
    )


if __name__ == "__main__":
    sys.exit(main())
