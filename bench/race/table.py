"""The race's table and figure from its rows.

Usage: .venv/bin/python bench/race/table.py bench/race/runs/TIME
"""

from __future__ import annotations

import csv
import math
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

HIGH, LOW = 1.05, 0.9
OURS = "Sojourn, quick"
QUEUE_TEXT = {
    "mm1": "M/M/1",
    "md1": "M/D/1",
    "stall": "rare stalls of 1–5 ms",
    "vac": "rarer of 5–20 ms",
    "slow": "slow phases",
    "mm4": "M/M/4",
    "modes": "two modes by restart",
}

Rows = list[dict[str, Any]]


def read(path: Path) -> dict[str, dict[str, Rows]]:
    """Rows by rule and queue, in the order of the file."""
    result: dict[str, dict[str, Rows]] = defaultdict(lambda: defaultdict(list))
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            numbers = {key: float(row[key]) for key in ("load", "lo", "hi", "seconds")}
            result[row["rule"]][row["queue"]].append(numbers)
            if row["rule"] == OURS:  # the load that it says surely fits
                sure = {**numbers, "load": numbers["lo"], "lo": math.nan}
                result[f"{OURS}: lower end"][row["queue"]].append(sure)
    return result


def cells(rows: Rows) -> list[str]:
    """Of one rule and queue: answer, spread, too high, too low, coverage, seconds."""
    loads = [row["load"] for row in rows]
    low, high = np.quantile(loads, [0.1, 0.9])
    with_interval = [row for row in rows if not (math.isnan(row["lo"]) or math.isnan(row["hi"]))]
    covered = sum(row["lo"] <= 1 <= row["hi"] for row in with_interval)
    return [
        f"{statistics.median(loads):.2f}",
        f"{low:.2f} to {high:.2f}",
        f"{sum(load > HIGH for load in loads)} of {len(rows)}",
        f"{sum(load < LOW for load in loads)} of {len(rows)}",
        f"{covered} of {len(with_interval)}" if with_interval else "–",
        f"{statistics.median(row['seconds'] for row in rows):.0f}",
    ]


def text(path: Path) -> str:
    """A Markdown table, a line for each rule and queue."""
    head = [
        "rule",
        "queue",
        "load that fits ÷ true border",
        "80 % of answers",
        "too high (> 5 %)",
        "too low (> 10 %)",
        "interval covers",
        "seconds of load",
    ]
    lines = [head, ["---"] * len(head)]
    for rule, queues in read(path).items():
        for queue, rows in queues.items():
            lines.append([rule, QUEUE_TEXT.get(queue, queue), *cells(rows)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def figure(path: Path, to: Path) -> None:
    """Each answer as a dot, rules in rows, queues in columns, 1 marked."""
    rows = [
        {"rule": rule, "queue": QUEUE_TEXT.get(queue, queue), "load": min(row["load"], 2.0)}
        for rule, queues in read(path).items()
        for queue, its in queues.items()
        for row in its
    ]
    data = pd.DataFrame(rows)
    order = list(dict.fromkeys(data["rule"]))
    base = alt.Chart(data).encode(
        x=alt.X("load:Q", title="answer ÷ true border", scale={"domain": [0, 2]}),
        y=alt.Y("rule:N", title=None, sort=order),
    )
    dots = base.mark_circle(size=28, opacity=0.45, color="#1f6feb")
    line = alt.Chart(data).mark_rule(color="#444", strokeWidth=1).encode(x=alt.datum(1.0))
    columns = list(dict.fromkeys(data["queue"]))
    chart = (
        alt.layer(line, dots)
        .properties(width=110, height=16 * len(order))
        .facet(column=alt.Column("queue:N", title=None, sort=columns))
    )
    chart.save(to, scale_factor=1.5)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    (folder / "table.md").write_text(text(folder / "rows.csv"))
    figure(folder / "rows.csv", folder / "race.png")
    print((folder / "table.md").read_text())
