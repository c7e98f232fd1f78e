"""Real A/A pairs of `sojourn gate`: the same command on both sides, again and again.

Usage: sudo .venv/bin/python bench/compare/gate_aa.py --minutes 8 [--alpha 1%] [--out FILE]
           [--command './server {port}']

One gate after the other until the time is over; each is a comparison of its own, with fresh starts.
NGINX with one worker serves 4 KB unless another command is given. A gate that ends with exit code 1
is a false alarm. The first alarm alone is counted too, because a gate confirms it by fresh blocks.
Every gate is a row (JSON Lines): exit code, seconds, blocks, block of the first alarm, and each
number's ratio and interval. Printed are counts with exact 95 % intervals (Clopper and Pearson).
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import exact
import servers

HERE = Path(__file__).parent

WORDS = {0: "not worse", 1: "FALSE ALARM", 3: "cannot be decided"}


def serve(port: int) -> None:
    """Becomes NGINX at this port, as all benches start it; `/` is a page of 4 kB."""
    os.umask(0o022)  # the lab's is stricter, and NGINX's workers are another user
    folder = Path(tempfile.mkdtemp(prefix="gate-aa-nginx-"))
    folder.chmod(0o755)
    argv = servers.command("http", port, folder)
    (folder / "www" / "4k").rename(folder / "www" / "index.html")
    os.execv(argv[0], argv)  # noqa: S606


def gate(args: argparse.Namespace) -> dict[str, Any]:
    """One gate; it is measured into a folder that is thrown away."""
    side = args.command
    words = ["--baseline", side, "--candidate", side, "--rate", args.rate, "--json", "--quiet"]
    words += ["--within", args.within, "--measure-s", str(args.measure_s), "--alpha", args.alpha]
    words += ["--max-regression", args.max_regression, "--numbers", args.numbers, "--yes"]
    with tempfile.TemporaryDirectory(prefix="gate-aa-") as folder:
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "sojourn", "gate", *words, "--results", folder],
            capture_output=True,
            text=True,
            check=False,
            timeout=1800,
        )
    row: dict[str, Any] = {"code": done.returncode, "seconds": time.monotonic() - begun}
    if done.returncode not in WORDS:
        return {**row, "error": done.stderr[-600:]}
    answer = json.loads(done.stdout)
    section = next(part for part in _tables(answer) if "first_alarm" in part)
    keys = ("blocks", "first_alarm", "answer")
    rows = [
        {key: r[key] for key in ("number", "ratio", "interval", "pairs")} for r in section["rows"]
    ]
    return {**row, **{key: section[key] for key in keys}, "numbers": rows}


def _tables(value: Any) -> list[dict[str, Any]]:
    """Every object in a JSON value, the outer ones first."""
    own = [value] if isinstance(value, dict) else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return own + [table for part in inner for table in _tables(part)]


def main() -> int:
    """Gates until the time is over; exit 1 if any was a false alarm, 2 if none was judged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=8)
    own = shlex.join([sys.executable, str(Path(__file__).resolve()), "--serve"])
    parser.add_argument("--command", default=f"{own} {{port}}")
    parser.add_argument("--serve", type=int, metavar="PORT", help="instead: be the service")
    parser.add_argument("--rate", default="5k")
    parser.add_argument("--within", default="2m")
    parser.add_argument("--measure-s", type=float, default=0.5)
    parser.add_argument("--alpha", default="1%")
    parser.add_argument("--max-regression", default="5%")
    parser.add_argument("--numbers", default="cpu")
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    parser.add_argument("--out", type=Path, default=HERE / "runs" / f"gate-aa-{stamp}.jsonl")
    args = parser.parse_args()
    if args.serve:
        serve(args.serve)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    until, rows = time.monotonic() + 60 * args.minutes, list[dict[str, Any]]()
    longest = 0.0
    while time.monotonic() + longest < until:
        row = {"asked": {k: str(v) for k, v in vars(args).items()}, **gate(args)}
        longest = max(longest, row["seconds"])
        rows.append(row)
        with args.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        word = WORDS.get(row["code"], "failed")
        print(
            f"{len(rows)}: {word}, {row.get('blocks')} blocks, {row['seconds']:.0f} s", flush=True
        )
    judged = [row for row in rows if row["code"] in WORDS]
    for what, count in (
        ("false alarms", sum(row["code"] == 1 for row in judged)),
        ("first alarms", sum(row["first_alarm"] is not None for row in judged)),
        ("cannot be decided", sum(row["code"] == 3 for row in judged)),
        ("not worse", sum(row["code"] == 0 for row in judged)),
    ):
        low, high = exact.interval(count, len(judged))
        print(f"{what}: {count} of {len(judged)} ({low:.1%} to {high:.1%})")
    print(f"rows: {args.out}")
    if not judged:
        print(f"nothing was compared: {rows[-1]['error'] if rows else 'no time'}", file=sys.stderr)
        return 2
    return 1 if any(row["code"] == 1 for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
