"""Change points of simulated histories: false alarms and steps found, ours and Apache Otava's.

Usage: .venv/bin/python bench/compare/histories.py [--series 1000] [--length 1000] [--seed 1]
       [--otava PYTHON [--otava-series 200]] [--out DIR]

Ours looks after every value. Printed are shares of series with exact 95 % intervals (Clopper and
Pearson). A step counts as found if the alarm comes with one of the 8 values after it. With
`--otava`, Otava sees the first series of the same seeds. Without a change it looks once, at the
end, and also after each value; with a step just before it and after each of the 8 values. `limit`
knows what ours has to learn: that the noise is normal, its mean and scatter, size and direction of
the step. It has the same shares for the time of the change, so it shows what these alone cost.
`rows.csv` has the first alarm of every series. A case that is in it is not run again, so a long run
can be made in parts (`--seconds`).
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import exact
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
FAMILY, FAMILY_PLACE = 8, 50  # series of one history, and where they change
CHUNK = 100
NEVER = -1
STILL = (0, 0.0)  # no step
Row = dict[str, Any]
Key = tuple[str, str, int, float, int]  # the first columns
Job = tuple[Key, Callable[[], list[int]]]
COLUMNS = ("rule", "law", "place", "step", "length", "series", "first")


def made(law: Law, seed: list[int], count: int, length: int, step: tuple[int, float]) -> Floats:
    """Series of a law, with a step of so many scatters before a value."""
    values = law(np.random.default_rng(seed), count, length)
    values[:, step[0] :] += step[1]
    return values


def first_alarms(values: Floats) -> list[int]:
    """After how many values each series alarms; -1: never."""
    numbers: list[int] = []
    for at in range(0, len(values), CHUNK):
        path = change_points.evidence(values[at : at + CHUNK]).log_capital
        numbers += crossed(path >= np.log(1 / ALPHA))
    return numbers


def crossed(is_there: np.ndarray[Any, np.dtype[np.bool_]]) -> list[int]:
    """After how many values each series is there for the first time; -1: never."""
    return np.where(is_there.any(axis=1), is_there.argmax(axis=1) + 1, NEVER).tolist()


def ours(namespace: argparse.Namespace) -> Iterator[Job]:
    laws, count = {**EXCHANGEABLE, **BREAKING}, namespace.series
    for n, (name, law) in enumerate(laws.items()):
        seed = [namespace.seed, n]
        yield (
            ("ours", name, *STILL, namespace.length),
            partial(alarms_of, law, seed, count, namespace.length, STILL),
        )
    for n, name in enumerate(STEP_LAWS):
        for place in PLACES:
            for step in STEPS:
                seed, length = [namespace.seed, 100 + n, place, int(step)], place + WITHIN
                yield (
                    ("ours", name, place, step, length),
                    partial(alarms_of, laws[name], seed, count, length, (place, step)),
                )


def alarms_of(
    law: Law, seed: list[int], count: int, length: int, case: tuple[int, float]
) -> list[int]:
    return first_alarms(made(law, seed, count, length, case))


def limits(namespace: argparse.Namespace) -> Iterator[Job]:
    """The normal series of `ours`, seen by who knows all but the time of the change."""
    for place in PLACES:
        for step in STEPS:
            case, seed = (place, step), [namespace.seed, 100, place, int(step)]
            key = ("limit", "normal", place, step, place + WITHIN)
            yield key, partial(limit, seed, namespace.series, case)


def limit(seed: list[int], count: int, case: tuple[int, float]) -> list[int]:
    place, step = case
    values = made(EXCHANGEABLE["normal"], seed, count, place + WITHIN, case)
    ratio = step * values - step**2 / 2  # logarithm of each value's likelihood ratio
    capital = 1 - np.cumsum([change_points.shares(k) for k in range(values.shape[1])])
    path = np.tile(capital, (count, 1))
    for old in range(1, values.shape[1]):
        path[:, old:] += change_points.shares(old) * np.exp(np.cumsum(ratio[:, old:], axis=1))
    return crossed(path >= 1 / ALPHA)


def families(namespace: argparse.Namespace) -> Iterator[Job]:
    """Eight series of one history: none changes, one does, or all do."""
    for n, (name, changed) in enumerate((("none", 0), ("one", 1), ("all", FAMILY))):
        case = (FAMILY_PLACE, 2.0) if changed else STILL
        key = (f"ours, {FAMILY} series", f"changed: {name}", *case, FAMILY_PLACE + WITHIN)
        yield key, partial(family, [namespace.seed, 200 + n], namespace.series // 4, changed)


def family(seed: list[int], count: int, changed: int) -> list[int]:
    alarms, length = [], FAMILY_PLACE + WITHIN
    for number in range(count):
        rng = np.random.default_rng([*seed, number])
        common = rng.normal(size=length)  # the noise of a record is in all its numbers
        values = np.sqrt(0.5) * (common + rng.normal(size=(FAMILY, length)))
        values[:changed, FAMILY_PLACE:] += 2.0
        paths = change_points.evidence(values).log_capital
        highest = (max(change_points.adjusted(list(paths[:, at]))) for at in range(length))
        seen = (at + 1 for at, one in enumerate(highest) if one >= np.log(1 / ALPHA))
        alarms.append(next(seen, NEVER))
    return alarms


def otava(namespace: argparse.Namespace) -> Iterator[Job]:
    laws, count = {**EXCHANGEABLE, **BREAKING}, namespace.otava_series
    for p_value in OTAVA_P:
        rule, each = f"Otava, p {p_value:g}, {ONCE}", f"Otava, p {p_value:g}, after each value"
        for name in OTAVA_LAWS:
            seed = [namespace.seed, list(laws).index(name)]
            ask = partial(asked, namespace, p_value, laws[name], seed, STILL)
            for length in OTAVA_LENGTHS:
                yield (rule, name, *STILL, length), partial(ask, length, length, count)
            if p_value == OTAVA_P[0]:
                length = OTAVA_LENGTHS[-1]
                fewer = partial(ask, length, OTAVA_FIRST, count // 5)
                yield (each, name, *STILL, length), fewer
            for place in OTAVA_PLACES:
                seed = [namespace.seed, 100 + STEP_LAWS.index(name), place, 2]
                ask = partial(asked, namespace, p_value, laws[name], seed, (place, 2.0))
                length = place + WITHIN
                yield (each, name, place, 2.0, length), partial(ask, length, place, count)


def asked(  # noqa: PLR0917 - bound one after another
    namespace: argparse.Namespace,
    p_value: float,
    law: Law,
    seed: list[int],
    case: tuple[int, float],
    length: int,
    first: int,
    count: int,
) -> list[int]:
    """What Otava says of the first series, of which ours sees all."""
    whole = namespace.length if case == STILL else length
    values = made(law, seed, namespace.series, whole, case)[:count, :length]
    with tempfile.TemporaryDirectory() as name:
        np.savez(Path(name) / "case.npz", rows=values, p_value=p_value, first=first)
        words = [str(namespace.otava), str(Path(__file__).with_name("otava_side.py")), name]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=3000)
    return [int(one) for one in done.stdout.split()]


def share(count: int, many: int) -> str:
    """`3.1 % (2.1 to 4.4)`."""
    low, high = exact.interval(count, many)
    return f"{100 * count / many:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def table(rows: list[Row]) -> Iterator[str]:
    still = [row for row in rows if not row["step"]]
    yield "Without a change: series with an alarm by that many values\n"
    yield f"| rule | law | {' | '.join(map(str, LENGTHS))} |"
    yield "|---|---|" + "---|" * len(LENGTHS)
    for rule, law in dict.fromkeys((row["rule"], row["law"]) for row in still):
        own = [row for row in still if (row["rule"], row["law"]) == (rule, law)]
        cells = [_by(own, length, is_once=rule.endswith(ONCE)) for length in LENGTHS]
        yield f"| {rule} | {law} | {' | '.join(cells)} |"
    yield f"\nA step: found within {WITHIN} values, and alarms before it\n"
    yield "| rule | law | values before | step, scatters | found | before it | neither |"
    yield "|---|---|---|---|---|---|---|"
    moved = [row for row in rows if row["step"]]
    for key in dict.fromkeys((r["rule"], r["law"], r["place"], r["step"]) for r in moved):
        own = [r for r in moved if (r["rule"], r["law"], r["place"], r["step"]) == key]
        early = sum(0 < row["first"] <= key[2] for row in own)
        result = sum(row["first"] > key[2] for row in own)
        cells = (share(n, len(own)) for n in (result, early, len(own) - result - early))
        yield f"| {' | '.join(map(str, key))} | {' | '.join(cells)} |"


def _by(rows: list[Row], length: int, *, is_once: bool) -> str:
    """Alarms by that many values, of rows that are so long; Otava looked once, at the end."""
    own = [r for r in rows if (r["length"] == length if is_once else r["length"] >= length)]
    return share(sum(0 < row["first"] <= length for row in own), len(own)) if own else "–"


def read(file: Path) -> list[Row]:
    """Rows of earlier runs."""
    if not file.exists():
        return []
    with file.open(newline="") as opened:
        return [
            {"rule": row["rule"], "law": row["law"], "place": int(row["place"]),
             "step": float(row["step"]), "length": int(row["length"]),
             "series": int(row["series"]), "first": int(row["first"])}
            for row in csv.DictReader(opened)
        ]  # fmt: skip


def measure(jobs: Iterator[Job], file: Path | None, rows: list[Row], seconds: float) -> bool:
    """Add the rows of each job that has none; returns whether all have."""
    done = {tuple(row[name] for name in COLUMNS[:5]) for row in rows}
    end = time.process_time() + seconds
    for key, compute in jobs:
        if key in done:
            continue
        if time.process_time() > end:
            return False
        more = [
            dict(zip(COLUMNS, (*key, number, first), strict=True))
            for number, first in enumerate(compute())
        ]
        rows += more
        if file is not None:
            is_new = not file.exists()
            with file.open("a", newline="") as opened:
                writer = csv.DictWriter(opened, COLUMNS, lineterminator="\n")
                if is_new:
                    writer.writeheader()
                writer.writerows(more)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--series", type=int, default=1000, help="of each law and case")
    parser.add_argument("--length", type=int, default=1000, help="of a history without a change")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--otava", type=Path, help="only Otava, by this Python")
    parser.add_argument("--otava-series", type=int, default=200)
    parser.add_argument(
        "--seconds", type=float, default=1e9, help="begin no case after so much CPU"
    )
    parser.add_argument("--out", type=Path, help="folder for rows.csv and table.md")
    args = parser.parse_args()
    file = args.out / "rows.csv" if args.out else None
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
    rows = read(file) if file else []
    jobs = otava(args) if args.otava else chain(ours(args), limits(args), families(args))
    is_whole = measure(jobs, file, rows, args.seconds)
    words = f"--series {args.series} --length {args.length} --seed {args.seed}"
    if args.otava:
        words += f" --otava PYTHON --otava-series {args.otava_series}"
    text = "\n".join([f"`bench/compare/histories.py {words}`\n", *table(rows)])
    print(text if is_whole else f"{len(rows)} rows so far; run it again to go on")
    if args.out:
        (args.out / "table.md").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
