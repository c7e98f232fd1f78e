#!/usr/bin/env python3
"""What becomes of a study when one call of it fails: which call, errno, exit code, how often.

    bench/faults.py try files ENOSPC --first 1 --last 60   each n on a simulated machine
    bench/faults.py try forks EAGAIN --real --sample 9     nine of them, on this machine
    bench/faults.py try clock 3600 --every 8               seconds instead of an errno
    bench/faults.py try pauses 60 --real --sample 4        all processes stopped for a minute
    bench/faults.py table FILE…                            prints what several of them came to

Calls are those of `tests/e2e/faults.c`: files, opens, forks, memory, clock. Of pauses, n is the
tenth of a second at which one begins; only a real machine has them. Each n is held to what
`tests/e2e/faulty.py` asks: words with a fix, no false number, nothing left, and a second run goes
on to what the undisturbed one gives. Rows go to `bench/runs/`, one file a call of this program.
Exit code 1: an n did not hold.
"""

from __future__ import annotations

import argparse
import errno
import json
import runpy
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "bench/runs"
faulty = SimpleNamespace(**runpy.run_path(str(ROOT / "tests/e2e/faulty.py")))

NUMBERS = {"first": 1, "last": 0, "every": 1, "sample": 0, "seed": 1}  # of `faulty.Asked`
LINE = "{:<10} {:<7} {:<8} {:<10} {:>4} {:>5} {:>5}".format


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parts = parser.add_subparsers(dest="do", required=True)
    trying = parts.add_parser("try")
    trying.add_argument("calls", choices=["files", "opens", "forks", "memory", "clock", "pauses"])
    trying.add_argument("error", help="a name of errno, or seconds")
    trying.add_argument(
        "--real", action="store_true", help="this machine instead of a simulated one"
    )
    for name, default in NUMBERS.items():
        trying.add_argument(f"--{name}", type=int, default=default)
    parts.add_parser("table").add_argument("files", type=Path, nargs="+")
    args = parser.parse_args()
    if args.do == "try" and args.calls == "pauses" and not args.real:
        parser.error("a simulated machine is not paused; add --real")
    return printed(args.files if args.do == "table" else [tried(args)])


def tried(namespace: argparse.Namespace) -> Path:
    """Try each n and keep its row; the first line says what was asked, and is the sound run."""
    error = getattr(errno, namespace.error, None) or int(namespace.error)
    numbers = {name: getattr(namespace, name) for name in NUMBERS}
    asked = faulty.Asked(calls=namespace.calls, error=error, **numbers)
    at = "real" if namespace.real else "simulated"
    about = {"machine": at, "kind": namespace.calls, "error": namespace.error, **numbers}
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = RUNS / f"{stamp}-faults-{at}-{namespace.calls}-{namespace.error}-{namespace.first}.jsonl"
    with tempfile.TemporaryDirectory(prefix="faults-") as name, path.open("w") as out:
        runs = faulty.real if namespace.real else faulty.simulated
        rows = runs(faulty.shim(Path(name)), Path(name), asked)
        sound = next(rows)
        print(json.dumps({**about, **short(sound, "")}), file=out, flush=True)
        for row in rows:
            bad = wrong(sound, row, is_exact=not namespace.real)
            print(json.dumps(short(row, bad)), file=out, flush=True)
    print(path)
    return path


def short(row: dict[str, Any], bad: str) -> dict[str, Any]:
    """What is stored of a row: all of it where something does not hold."""
    if bad:
        return {**row, "wrong": bad}
    selected = {key: row[key] for key in ("n", "calls", "call", "code", "again") if key in row}
    text = " ".join(row["err"].partition("error:")[2].split())
    return {**selected, "said": text, "complete": row["left"]["complete"], "wrong": ""}


def wrong(sound: dict[str, Any], row: dict[str, Any], *, is_exact: bool) -> str:
    """What does not hold of an n; "": nothing."""
    try:
        faulty.check(sound, row, is_exact=is_exact)
    except AssertionError as failed:
        *_, last = traceback.extract_tb(failed.__traceback__)
        return f"{last.line}: {failed}"
    return ""


def printed(files: Iterable[Path]) -> int:
    """The table of all these rows; the exit code."""
    by: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    totals: Counter[tuple[str, str, str]] = Counter()
    for file in files:
        first, *rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        key = (first["machine"], first["kind"], first["error"])
        by.setdefault(key, []).extend(rows)
        totals[key] = max(totals[key], first["calls"])
    print(LINE("machine", "kind", "error", "call", "exit", "n", "wrong"))
    for key, rows in sorted(by.items()):
        for (call, code), count in sorted(faulty.table(rows).items()):
            bad = sum(bool(one["wrong"]) for one in of(rows, call, code))
            print(LINE(*key, call or "-", code, count, bad))
        tried_n = len({one["n"] for one in rows})
        print(f"{'':<10} {tried_n} of {totals[key]} calls")
    failed = [one for rows in by.values() for one in rows if one["wrong"]]
    for one in failed:
        print(f"\n{one['wrong']}", file=sys.stderr)
    return int(bool(failed))


def of(rows: Sequence[dict[str, Any]], call: str, code: int) -> list[dict[str, Any]]:
    return [one for one in rows if (one["call"].partition(" ")[0], one["code"]) == (call, code)]


if __name__ == "__main__":
    raise SystemExit(main())
