"""What a person waits for: CPU time, memory and page size of commands, now and at another commit.

Usage: .venv/bin/python bench/user_seconds.py [--against REF] [--results DIR] [--only ls,sql]

In each round every command runs once as of this tree and once as of REF, in random order, on copies
of the same records; CPU time (user and system) and the largest memory are the kernel's for the
process (wait4). A command `again` finds the cache of the same tree as a run before left it; others
begin with an empty cache. Rows are kept in bench/runs/<UTC>-user-seconds.json, a run a row; the
table has medians, and the ratio is that of medians. Without --results the record is the one of
`store/golden`: 43 simulated points, which is less than a study measures. Other programs that run
meanwhile make CPU time larger, too: by how much is seen in `other`, their share of all CPUs.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "python" / "sojourn" / "store" / "golden" / "record-1.tar.xz"
LIMIT_S = 300.0
UNWRITTEN = "PYTHONDONTWRITEBYTECODE"  # with it, every start would compile the whole lab
COMPLETE = {"_SOJOURN_COMPLETE": "complete_bash", "COMP_WORDS": "sojourn ru", "COMP_CWORD": "1"}
ALONE = {
    "--version": ["--version"],
    "--help": ["--help"],
    "completion": [],
    "kinds": ["kinds"],
    "tco": ["tco"],
    "provision": ["provision"],
    "check": ["check", "latency_vs_load"],
    "doctor": ["doctor", "--watch-s", "2"],
}
OF_RECORDS = {
    "ls": ["ls"],
    "sql": ["sql", "select count(*) from outcomes"],
    "plan": ["plan", "latency_vs_load", "-p", "quick"],
}


AGAIN = ("kinds", "check", "ls", "sql", "plan", "tco", "provision")


@dataclass(frozen=True, kw_only=True)
class Row:
    round: int
    tree: str
    command: str
    code: int
    cpu_s: float
    peak_mb: float
    page_kb: float
    other: float


def busy_s() -> float:
    """CPU time of the whole machine, s."""
    ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    idle = sum(map(int, ticks[3:5]))
    return (sum(map(int, ticks)) - idle) / os.sysconf("SC_CLK_TCK")


def ran(tree: Path, words: list[str], cache: Path, **more: str) -> tuple[int, float, float, float]:
    """Exit code, CPU time, MB, and what others took of all CPUs meanwhile."""
    env = {
        **{key: value for key, value in os.environ.items() if key != UNWRITTEN},
        "PYTHONPATH": str(tree / "python"),
        "XDG_CACHE_HOME": str(cache),
        "TERM": "dumb",
        **more,
    }
    before, began = busy_s(), datetime.now(UTC)
    process = subprocess.Popen(
        ["/usr/bin/timeout", str(LIMIT_S), sys.executable, "-m", "sojourn", *words],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    span_s = (datetime.now(UTC) - began).total_seconds() * (os.cpu_count() or 1)
    cpu_s = used.ru_utime + used.ru_stime
    other = max(0.0, busy_s() - before - cpu_s) / span_s
    return process.returncode, cpu_s, used.ru_maxrss / 1024, other


def rows_of(
    number: int, name: str, tree: Path, inputs: Path, temp: Path, *, only: set[str]
) -> list[Row]:
    """One run of each command as of one tree; `only`: of these, if there are any."""
    place = temp / f"{name}-{number}"
    results, cache = place / "results", place / "cache"
    shutil.copytree(inputs, results, symlinks=True)
    own = ["--results", str(results)]
    once = list(ALONE.items())
    once += [(label, [*words, *own]) for label, words in OF_RECORDS.items()]
    random.shuffle(once)
    todo = []
    for label, words in once:
        todo += [(label, words), *([(f"{label} again", words)] if label in AGAIN else [])]
    for record in sorted(path.parent for path in results.glob("*/*/*/manifest.json")):
        study = record.parents[1].name
        ran(tree, ["show", str(record)], cache)  # summaries of points are made as of this tree
        for file in ("report.html", "report.txt"):
            (record / file).unlink(missing_ok=True)
        shutil.rmtree(cache, ignore_errors=True)
        todo += [
            (f"show {study}", ["show", str(record)]),
            (f"show {study} again", ["show", str(record)]),
            (f"report {study}", ["report", str(record)]),
            (f"show {study} after report", ["show", str(record), "--json"]),
            (f"report {study} again", ["report", str(record)]),
        ]
    rows = []
    for label, words in todo:
        if only and label.split()[0] not in only:
            continue
        if not label.endswith((" again", " after report")):
            shutil.rmtree(cache, ignore_errors=True)
        more = COMPLETE if label == "completion" else {}
        code, cpu_s, peak_mb, other = ran(tree, words, cache, **more)
        page = Path(words[1]) / "report.html" if words[:1] == ["report"] else None
        page_kb = page.stat().st_size / 1e3 if page and page.is_file() else 0.0
        rows.append(
            Row(
                round=number,
                tree=name,
                command=label,
                code=code,
                cpu_s=round(cpu_s, 3),
                peak_mb=round(peak_mb, 1),
                page_kb=round(page_kb, 1),
                other=round(other, 3),
            )
        )
    shutil.rmtree(place)
    return rows


def table(rows: list[Row], against: str) -> str:
    """Medians, and the ratio to the other commit."""
    lines = [
        f"| command | CPU, s | at {against} | ratio | MB | was | page, kB | was |",
        "|---" * 8 + "|",
    ]
    for command in dict.fromkeys(row.command for row in rows):
        cells = []
        for key in ("cpu_s", "peak_mb", "page_kb"):
            now, then = (
                statistics.median([getattr(r, key) for r in own]) if own else None
                for own in (
                    [r for r in rows if (r.tree, r.command) == (tree, command)]
                    for tree in ("now", "then")
                )
            )
            cells.append((now, then))
        (cpu, cpu_then), (mb, mb_then), (page, page_then) = cells
        ratio = f"{cpu / cpu_then:.2f}" if cpu and cpu_then else ""
        text = [command, f"{cpu:.2f}", f"{cpu_then:.2f}" if cpu_then is not None else "", ratio]
        text += [f"{one:.0f}" if one else "" for one in (mb, mb_then, page, page_then)]
        lines.append(f"| {' | '.join(text)} |")
    return "\n".join(lines)


def tree_of(ref: str, folder: Path) -> Path:
    """The files of a commit."""
    packed = subprocess.run(
        ["git", "-C", str(ROOT), "archive", ref, "python", "Cargo.toml"],
        capture_output=True,
        check=True,
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(folder)  # noqa: S202 - of our own repository
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--against", default="HEAD", metavar="REF", help="another commit")
    parser.add_argument("--results", type=Path, help="records; they are copied")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="NAME,NAME", help="only these commands")
    args = parser.parse_args()
    random.seed(args.seed)
    only = set(filter(None, args.only.split(",")))
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name:
        temp = Path(name)
        results = args.results
        if results is None:
            results = temp / "golden"
            with tarfile.open(GOLDEN) as files:
                files.extractall(results)  # noqa: S202 - of our own repository
        trees = {"now": ROOT, "then": tree_of(args.against, temp / "then")}
        for number in range(args.rounds):
            for tree in random.sample(list(trees), len(trees)):
                rows += rows_of(number, tree, trees[tree], results, temp, only=only)
                print(f"round {number + 1} of {args.rounds}: {tree}", file=sys.stderr)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    rows_file = Path(__file__).parent / "runs" / f"{stamp}-user-seconds.json"
    about = {"against": args.against, "rounds": args.rounds, "seed": args.seed}
    rows_file.write_text(
        json.dumps({**about, "rows": [asdict(row) for row in rows]}, indent=1) + "\n"
    )
    print(table(rows, args.against))
    print(f"\nrows: {rows_file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
