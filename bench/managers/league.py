"""The league in simulation: every controller in every scenario, beside the best fixed allocation.

Usage: .venv/bin/python bench/managers/league.py [--seeds 3] [--first 1] [--only PART]
           [--rules NAME …]

Parts: each scenario by its name, and `noise`. A scenario's table has violated seconds, depth,
actuations and reversals an hour, the job's share of the machine's CPU time, the time to settle
after a step, and the TCO gain; medians over seeds with the range (`summary.py`). Seeds are counted
from `--first` in each scenario; the oracle is searched with the seed 100 above the last, which no
controller plays. The constants of `posterior` were chosen with seeds 1 to 3, so it is judged by
others. With `--rules` only those play, without the oracle.
`noise` is A/A with latencies that never change: changes an hour, by rate and true slack, and the
share of windows in which PARTIES' own condition to take away holds. Rows are stored in
`bench/runs`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from summary import table

from sojourn.models.league import play, stationary
from sojourn.models.league.scenarios import SCENARIOS, Scenario

KEPT = Path(__file__).parents[1] / "runs"
NOISE = "noise"
RATES, SLACKS = (1000.0, 10_000.0), (0.10, 0.15)


def main() -> int:
    asked = arguments()
    began = time.monotonic()
    noise = of_noise(asked.noise_s, asked.rules) if asked.only in {"", NOISE} else []
    rows: list[dict[str, Any]] = []
    for scenario in SCENARIOS.values():
        if asked.only in {"", scenario.name}:
            seeds = range(asked.first, asked.first + asked.seeds)
            result = of_scenario(scenario, seeds, asked.rules)
            print(table(scenario, result), flush=True)
            rows += result
    path = KEPT / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-league.json"
    about = {
        "seeds": asked.seeds,
        "first": asked.first,
        "only": asked.only,
        "rules": asked.rules,
        "noise_s": asked.noise_s,
    }
    path.write_text(json.dumps({**about, "noise": noise, "rows": rows}, indent=1))
    print(f"\nkept in {path.name}, after {time.monotonic() - began:.0f} s")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--first", type=int, default=1, help="the first seed (1)")
    parser.add_argument("--only", default="", choices=["", NOISE, *SCENARIOS], help="one part")
    parser.add_argument("--rules", nargs="+", default=[], choices=play.names(), help="these alone")
    parser.add_argument("--noise-s", type=float, default=1800.0, help="length of A/A, s (1800)")
    return parser.parse_args()


def of_noise(seconds: float, rules: list[str]) -> list[dict[str, Any]]:
    """A/A without any effect: changes an hour of each controller, and PARTIES' condition."""
    cells = [(rate, slack) for rate in RATES for slack in SLACKS]
    heads = [f"{rate / 1000:g}k/s, slack {slack:.0%}" for rate, slack in cells]
    print(f"| A/A, changes an hour | {' | '.join(heads)} |\n|---|{'---|' * len(cells)}")
    results = []
    looks = [list(stationary.looks(*cell, seconds, 1)) for cell in cells]
    for name in rules or play.names():
        values = [stationary.actuations_per_h(name, one) for one in looks]
        results += [
            {"controller": name, "rate_rps": rate, "slack": slack, "changes_per_h": value}
            for (rate, slack), value in zip(cells, values, strict=True)
        ]
        print(f"| {name} | {' | '.join(f'{value:.0f}' for value in values)} |", flush=True)
    shares = [stationary.acts("parties", one) for one in looks]
    results += [
        {"controller": "parties", "rate_rps": rate, "slack": slack, "would_take": value}
        for (rate, slack), value in zip(cells, shares, strict=True)
    ]
    print(f"| parties would take, windows | {' | '.join(f'{one:.1%}' for one in shares)} |\n")
    return results


def of_scenario(scenario: Scenario, seeds: range, rules: list[str]) -> list[dict[str, Any]]:
    """All rows of a scenario; the oracle is searched with a seed of its own."""
    if rules:
        return [asdict(play.play(name, scenario, seed)) for seed in seeds for name in rules]
    inputs, _ = play.oracle(scenario, seeds[-1] + 100)
    print(f"\n{scenario.name}: {scenario.about}; the best fixed allocation is {dict(inputs)}")
    rows: list[dict[str, Any]] = []
    for seed in seeds:
        best = play.play("static", scenario, seed, inputs)
        rows.append({**asdict(best), "controller": "oracle"})
        rows += [asdict(play.play(name, scenario, seed)) for name in play.names()]
    return rows


if __name__ == "__main__":
    sys.exit(main())
