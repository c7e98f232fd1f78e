"""Error rates of comparisons on simulated machines: ours, and rules that others use.

Usage: .venv/bin/python bench/compare/rates.py [--pairs 200] [--blocks 120] [--seed 1] [--out DIR]

Every machine of `machines.py` compares two equal services (A/A), one whose numbers are exactly the
allowed 5 % higher, and one whose requests take 10 % more time. A comparison is a series of blocks;
a block is a run of each side. Printed is the share of comparisons in which a rule alarms, with its
exact 95 % interval (Clopper and Pearson). All rules see the same runs. Rules that know no sequence
see the first 10 blocks. `rows.csv` has a row for each comparison.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterator
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

sys.path.insert(0, str(Path(__file__).parent))
import exact
import rules
from machines import MACHINES, NUMBERS, Floats, Machine, blocks

from sojourn.stats import gate_rule, paired_ratio, visible_change
from sojourn.stats.gate_rule import Ruling
from sojourn.stats.paired_ratio import Judgement, Limits

ALPHA, MARGIN, PLANTED = 0.01, 0.05, 0.10
PILOT = 12  # blocks of A/A from which the time is stated
WORKERS = 1
CASES = {"A/A": 0.0, "at the limit (+5 %)": MARGIN, "+10 %": PLANTED}


def logs_of(values: dict[str, Floats]) -> dict[str, Floats]:
    """Log ratios of the blocks, by number."""
    return {name: np.log(runs[:, 1] / runs[:, 0]) for name, runs in values.items()}


def stated(pilot: dict[str, Floats]) -> int | None:
    """Blocks in which the gate promises to find 10 % more CPU time a request."""
    scatter = visible_change.scatter(pilot["cpu"])
    return visible_change.gate_blocks(PLANTED, scatter, ALPHA / len(NUMBERS), MARGIN)


def limit_case(rng: Generator, machine: Machine, count: int) -> dict[str, Floats]:
    """Equal services, of which one's numbers are 5 % higher: the gate's limit itself."""
    values = blocks(rng, machine, count, 0.0)
    return {name: runs * [1, 1 + MARGIN] for name, runs in values.items()}


def pair(case: str, count: int, seed: int, number: int) -> dict[str, Any]:
    """One comparison through every rule."""
    machine = MACHINES[number % len(MACHINES)]
    rng = np.random.default_rng([seed, number, list(CASES).index(case)])
    promise = stated(logs_of(blocks(rng, machine, PILOT, 0.0))) if case == "+10 %" else None
    length = min(promise or count, 2 * count)
    is_limit = case.startswith("at")
    values = (
        limit_case(rng, machine, length) if is_limit else blocks(rng, machine, length, CASES[case])
    )
    logs = logs_of(values)
    gate = gate_rule.decide(logs, MARGIN, ALPHA)
    judged = paired_ratio.judged(logs, Limits(alpha=ALPHA))
    row: dict[str, Any] = {"case": case, "machine": machine.name, "seed": f"{seed}/{number}"}
    row |= {"stated": promise or "", "blocks": gate.blocks, "ruling": str(gate.ruling)}
    row["gate"] = gate.ruling is Ruling.REGRESSION
    row["first alarm"] = gate.first is not None
    row["compare"] = any(
        one.judgement in {Judgement.WORSE, Judgement.BETTER} for one in judged.values()
    )
    return row | {f"{name}: p99": rule(values["p99"]) for name, rule in rules.RULES.items()}


def share(rows: list[dict[str, Any]], rule: str) -> str:
    """`3 of 1000: 0.3 % (at most 0.9 %)`."""
    known = [row[rule] for row in rows if row.get(rule) not in {None, ""}]
    if not known:
        return "–"
    k, n = sum(map(bool, known)), len(known)
    lower, upper = exact.interval(k, n)
    return f"{k} of {n}: {k / n:.1%} ({lower:.1%} to {upper:.1%})"


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Lines of Markdown: a row for each rule, a column for each case."""
    names = ["gate", "first alarm", "compare", *(f"{name}: p99" for name in rules.RULES)]
    yield f"| rule | {' | '.join(CASES)} |"
    yield "|---|" + "---|" * len(CASES)
    for name in names:
        cells = [share([row for row in rows if row["case"] == case], name) for case in CASES]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    yield "| machine | A/A alarms | +10 % found | blocks stated, median | needed, median |"
    yield "|---|---|---|---|---|"
    for machine in MACHINES:
        own = [row for row in rows if row["machine"] == machine.name]
        equal = [row for row in own if row["case"] == "A/A"]
        slower = [row for row in own if row["case"] == "+10 %"]
        promises = [row["stated"] or math.inf for row in slower]
        needed = [row["blocks"] for row in slower if row["gate"]]
        yield (
            f"| {machine.name} | {share(equal, 'gate')} | {share(slower, 'gate')} "
            f"| {np.median(promises):.0f} | {np.median(needed) if needed else math.nan:.0f} |"
        )


def main() -> None:
    """Simulate, print, keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=200, help="of each machine and case")
    parser.add_argument("--blocks", type=int, default=120, help="of an A/A comparison")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="folder for rows.csv and table.md")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with Pool(WORKERS) as pool:
        for case in CASES:
            work = partial(pair, case, args.blocks, args.seed)
            rows += pool.map(work, range(args.pairs * len(MACHINES)), chunksize=8)
    text = "\n".join(table(rows))
    print(f"{shown(args)}\n\n{text}")
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "table.md").write_text(f"{shown(args)}\n\n{text}\n")
        with (args.out / "rows.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def shown(namespace: argparse.Namespace) -> str:
    """The command."""
    words = f"--pairs {namespace.pairs} --blocks {namespace.blocks} --seed {namespace.seed}"
    return f"`bench/compare/rates.py {words}`"


if __name__ == "__main__":
    main()
