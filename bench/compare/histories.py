"""Change points of simulated histories: false alarms and steps found, ours and Apache Otava's.

Usage: .venv/bin/python bench/compare/histories.py [--series 1000] [--length 1000] [--seed 1]
       [--otava PYTHON [--otava-series 200]] [--out DIR]

Ours looks after every value. Printed are shares of series with exact 95 % intervals (Clopper and
Pearson). A step counts as found if the alarm comes with one of the 8 values after it. With
`--otava`, Otava sees the first series of the same seeds. Without a change it looks once, at the
end, and also after each value; with a step just before it and after each of the 8 values.
`rows.csv` has the first alarm of every series.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent))
from series import BREAKING, EXCHANGEABLE, Floats, Law

from sojourn.stats import change_points

ALPHA, WITHIN = 0.05, 8
LENGTHS = (20, 50, 100, 200, 500, 1000)
PLACES, STEPS = (10, 20, 50, 100, 500), (2.0, 3.0, 4.0)
STEP_LAWS = ("normal", "Student's t, 3", "skewed")
OTAVA_LAWS, OTAVA_PLACES, OTAVA_LENGTHS = ("normal", "Student's t, 3"), (20, 50, 100), (20, 50, 100)
OTAVA_P = (0.001, 0.01, 0.05)  # its default first
OTAVA_FIRST = 10  # values before it looks for the first time
ONCE = "at the end"
FAMILY = 8  # series of one history
CHUNK = 100
NEVER = -1
STILL = (0, 0.0)  # no step
Row = dict[str, Any]
Case = tuple[tuple[str, str], tuple[int, float], float, int, Floats]
COLUMNS = ("rule", "law", "place", "step", "length", "series", "first")


def made(law: Law, seed: list[int], count: int, length: int, step: tuple[int, float]) -> Floats:
    """Series of a law, with a step of so many scatters before a value."""
    values = law(np.random.default_rng(seed), count, length)
    values[:, step[0] :] += step[1]
    return values


def first_alarms(values: Floats) -> list[int]:
    """After how many values each series alarms; -1: never."""
    found: list[int] = []
    for at in range(0, len(values), CHUNK):
        path = change_points.evidence(values[at : at + CHUNK]).log_capital
        is_there = path >= np.log(1 / ALPHA)
        found += np.where(is_there.any(axis=1), is_there.argmax(axis=1) + 1, NEVER).tolist()
    return found


def rows_of(
    rule: str, law: str, case: tuple[int, float], length: int, alarms: list[int]
) -> Iterator[Row]:
    place, step = case
    for number, first in enumerate(alarms):
        yield {"rule": rule, "law": law, "place": place, "step": step, "length": length,
               "series": number, "first": first}  # fmt: skip


def ours(given: argparse.Namespace) -> Iterator[Row]:
    laws = {**EXCHANGEABLE, **BREAKING}
    for n, (name, law) in enumerate(laws.items()):
        values = made(law, [given.seed, n], given.series, given.length, (given.length, 0.0))
        yield from rows_of("ours", name, STILL, given.length, first_alarms(values))
    for n, name in enumerate(STEP_LAWS):
        for place in PLACES:
            for step in STEPS:
                seed = [given.seed, 100 + n, place, int(step)]
                values = made(laws[name], seed, given.series, place + WITHIN, (place, step))
                yield from rows_of(
                    "ours", name, (place, step), place + WITHIN, first_alarms(values)
                )


def families(given: argparse.Namespace) -> Iterator[Row]:
    """Eight series of one history: none changes, one does, or all do."""
    place, length = 50, 50 + WITHIN
    for n, (name, changed) in enumerate((("none", 0), ("one", 1), ("all", FAMILY))):
        alarms = []
        for number in range(given.series // 4):
            rng = np.random.default_rng([given.seed, 200 + n, number])
            common = rng.normal(size=length)  # the noise of a record is in all its numbers
            values = np.sqrt(0.5) * (common + rng.normal(size=(FAMILY, length)))
            values[:changed, place:] += 2.0
            paths = change_points.evidence(values).log_capital
            seen = [
                at + 1
                for at in range(length)
                if max(change_points.adjusted(list(paths[:, at]))) >= np.log(1 / ALPHA)
            ]
            alarms.append(seen[0] if seen else NEVER)
        case = (place, 2.0) if changed else STILL
        yield from rows_of(f"ours, {FAMILY} series", f"changed: {name}", case, length, alarms)


def otava(given: argparse.Namespace) -> Iterator[Row]:
    cases = list(_cases(given))
    with tempfile.TemporaryDirectory() as name:
        for number, (_, _, p_value, first, values) in enumerate(cases):
            np.savez(Path(name) / f"{number:03d}.npz", rows=values, p_value=p_value, first=first)
        side = Path(__file__).with_name("otava_side.py")
        words = [str(given.otava), str(side), name]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=3000)
    for (head, case, _, _, values), line in zip(cases, done.stdout.splitlines(), strict=True):
        rule, law = head
        yield from rows_of(rule, law, case, values.shape[1], [int(one) for one in line.split()])


def _cases(given: argparse.Namespace) -> Iterator[Case]:
    laws, count = {**EXCHANGEABLE, **BREAKING}, given.otava_series
    for p_value in OTAVA_P:
        rule, each = f"Otava, p {p_value:g}, {ONCE}", f"Otava, p {p_value:g}, after each value"
        for name in OTAVA_LAWS:
            seed = [given.seed, list(laws).index(name)]
            every = made(laws[name], seed, given.series, given.length, (given.length, 0.0))[:count]
            for length in OTAVA_LENGTHS:
                yield (rule, name), STILL, p_value, length, every[:, :length]
            yield (each, name), STILL, p_value, OTAVA_FIRST, every[:, : OTAVA_LENGTHS[-1]]
            for place in OTAVA_PLACES:
                seed = [given.seed, 100 + STEP_LAWS.index(name), place, 2]
                values = made(laws[name], seed, given.series, place + WITHIN, (place, 2.0))
                yield (each, name), (place, 2.0), p_value, place, values[:count]


def share(found: int, many: int) -> str:
    """`3.1 % (2.1 to 4.4)`."""
    low = 0.0 if not found else float(stats.beta.ppf(0.025, found, many - found + 1))
    high = 1.0 if found == many else float(stats.beta.ppf(0.975, found + 1, many - found))
    return f"{100 * found / many:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def table(rows: list[Row]) -> Iterator[str]:
    still = [row for row in rows if not row["step"]]
    yield "Without a change: series with an alarm by that many values\n"
    yield f"| rule | law | {' | '.join(map(str, LENGTHS))} |"
    yield "|---|---|" + "---|" * len(LENGTHS)
    for rule, law in dict.fromkeys((row["rule"], row["law"]) for row in still):
        mine = [row for row in still if (row["rule"], row["law"]) == (rule, law)]
        cells = [_by(mine, length, is_once=rule.endswith(ONCE)) for length in LENGTHS]
        yield f"| {rule} | {law} | {' | '.join(cells)} |"
    yield f"\nA step: found within {WITHIN} values, and alarms before it\n"
    yield "| rule | law | values before | step, scatters | found | before it | neither |"
    yield "|---|---|---|---|---|---|---|"
    moved = [row for row in rows if row["step"]]
    for key in dict.fromkeys((r["rule"], r["law"], r["place"], r["step"]) for r in moved):
        mine = [r for r in moved if (r["rule"], r["law"], r["place"], r["step"]) == key]
        early = sum(0 < row["first"] <= key[2] for row in mine)
        found = sum(row["first"] > key[2] for row in mine)
        cells = (share(n, len(mine)) for n in (found, early, len(mine) - found - early))
        yield f"| {' | '.join(map(str, key))} | {' | '.join(cells)} |"


def _by(rows: list[Row], length: int, *, is_once: bool) -> str:
    """Alarms by that many values, of rows that are so long; Otava looked once, at the end."""
    mine = [r for r in rows if (r["length"] == length if is_once else r["length"] >= length)]
    return share(sum(0 < row["first"] <= length for row in mine), len(mine)) if mine else "–"


def _kept(rows: Iterator[Row], given: argparse.Namespace) -> Iterator[Row]:
    """The rows, each written before the next one is made."""
    if not given.out:
        yield from rows
        return
    given.out.mkdir(parents=True, exist_ok=True)
    with (given.out / "rows.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(row)
            file.flush()
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--series", type=int, default=1000, help="of each law and case")
    parser.add_argument("--length", type=int, default=1000, help="of a history without a change")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--otava", type=Path, help="only Otava, by this Python")
    parser.add_argument("--otava-series", type=int, default=200)
    parser.add_argument("--out", type=Path, help="folder for rows.csv and table.md")
    given = parser.parse_args()
    rows = list(_kept(otava(given) if given.otava else chain(families(given), ours(given)), given))
    words = f"--series {given.series} --length {given.length} --seed {given.seed}"
    if given.otava:
        words += f" --otava PYTHON --otava-series {given.otava_series}"
    text = "\n".join([f"`bench/compare/histories.py {words}`\n", *table(rows)])
    print(text)
    if given.out:
        (given.out / "table.md").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
