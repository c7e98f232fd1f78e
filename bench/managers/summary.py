"""The league's rows as tables: each scenario, what it is worth, and ours beside the best other.

Usage: .venv/bin/python bench/managers/summary.py ROWS.json [ROWS.json …]

Medians over seeds with the range. "TCO gain" is that of `sojourn tco --league` at the default
costs, for the service's mean use of the machine alone and the job's share of it. The best other has
the fewest violated seconds; among equals, the most batch work. Better in both: no more violated
seconds than ours, and more batch work.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.models.league.scenarios import SCENARIOS, Scenario
from sojourn.models.league.sharing import Shape
from sojourn.models.tco import Costs, used_gain

SHAPE = Shape()
OURS, APART = "posterior", ("oracle", "posterior")
Rows = Sequence[Mapping[str, Any]]


def main() -> int:
    rows: list[dict[str, Any]] = []
    for name in sys.argv[1:]:
        rows += json.loads(Path(name).read_text())["rows"]
    if not rows:
        print("name files of rows that league.py has written", file=sys.stderr)
        return 2
    for scenario in SCENARIOS.values():
        own = [row for row in rows if row["scenario"] == scenario.name]
        if own:
            print(table(scenario, own))
    print(duels(rows))
    return 0


def table(scenario: Scenario, rows: Rows) -> str:
    seeds = len({row["seed"] for row in rows})
    lines = [f"\n**{scenario.name}**: {scenario.about} ({seeds} runs of {scenario.length_s:g} s)\n"]
    columns = (
        "rule",
        "violated, s",
        "late",
        "late then",
        "changes/h",
        "reversals/h",
        "job's share",
    )
    columns = (*columns, "settled, s", "TCO gain")
    lines += [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    moments = [scenario.at(t) for t in range(round(scenario.length_s))]
    load = statistics.mean(one.load * one.slows for one in moments)
    busy = load * SHAPE.peak_rps * SHAPE.service_s / SHAPE.cores  # of the service alone
    for name in dict.fromkeys(row["controller"] for row in rows):
        own = [row for row in rows if row["controller"] == name]
        worth = [used_gain(Costs(), busy, row["kept"]) for row in own]
        cells = [
            spread(own, "violated_s", "{:.0f}"),
            spread(own, "late", "{:.2%}"),
            spread(own, "depth", "{:.1%}"),
            spread(own, "actuations_per_h", "{:.0f}"),
            spread(own, "reversals_per_h", "{:.0f}"),
            spread(own, "kept", "{:.3f}"),
            spread(own, "settled_s", "{:.0f}"),
            ranged(worth, "{:.1%}"),
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def duels(rows: Rows) -> str:
    """Ours beside the best other and the oracle, by scenario."""
    columns = ("scenario", "best other", "its violated, s / job's share", "ours", "oracle's")
    columns = (*columns, "better than ours in both")
    lines = [f"\n| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for name in dict.fromkeys(row["scenario"] for row in rows):
        own = [row for row in rows if row["scenario"] == name]
        results = {
            one: (middle(own, one, "violated_s"), middle(own, one, "kept"))
            for one in dict.fromkeys(row["controller"] for row in own)
        }
        others = {one: pair for one, pair in results.items() if one not in APART}
        best = min(others, key=lambda one: (others[one][0], -others[one][1]))
        cells = [f"{v:.0f} / {k:.3f}" for v, k in (others[best], results[OURS], results["oracle"])]
        ours = results[OURS]
        both = [n for n, (v, k) in others.items() if v <= ours[0] and k > ours[1]]
        lines.append(f"| {name} | {best} | {' | '.join(cells)} | {', '.join(both) or '–'} |")
    return "\n".join(lines)


def middle(rows: Rows, controller: str, key: str) -> float:
    return statistics.median(row[key] for row in rows if row["controller"] == controller)


def spread(rows: Rows, key: str, form: str) -> str:
    return ranged([row[key] for row in rows if row[key] is not None], form)


def ranged(values: Sequence[float], form: str) -> str:
    """Median and range; "–" where there is nothing."""
    if not values:
        return "–"
    ends: list[Callable[[Sequence[float]], float]] = [statistics.median, min, max]
    text, low, high = (form.format(f(values) + 0.0).replace("%", " %") for f in ends)
    return text if low == high else f"{text} ({low}–{high})"


if __name__ == "__main__":
    sys.exit(main())
