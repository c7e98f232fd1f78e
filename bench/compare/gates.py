"""Real gates, one after the other: equal services, and services that are slower by a tenth.

Usage: sudo .venv/bin/python bench/compare/gates.py CASE [--gates 10] [--within 40s] [--out FILE]

| case | both sides | what is planted into the second | number |
|---|---|---|---|
| equal | NGINX, 4 KB | nothing; the limit is 0 %, where a false alarm is likeliest | cpu |
| cpu | memcached | LD_PRELOAD: each reply takes 10 % more CPU time | cpu |
| max | memcached | the same, of the CPU time for each request at full load | max_rps |
| serve | `sojourn-serve`, 200 us a request | 220 us a request | mean |
| quota | memcached, by `compare` | 72 % of a CPU instead of 80 % | max_rps |

A planted case begins with a gate of equal services for `--within`. Its scatter states the time that
a change of 10 % takes; each later gate has that time. A gate that ends with exit code 1 has alarmed
and confirmed. Every gate is a row (JSON Lines) with the numbers of every block. At the end the same
blocks go through the rules of `rules.py`, and with --otava through Apache Otava. Shares have exact
95 % intervals (Clopper and Pearson).
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import exact
import rules
from machines import Floats

from sojourn import store
from sojourn.questions.compare import block_runs
from sojourn.stats import gate_rule, visible_change
from sojourn.units import show_ns

HERE = Path(__file__).parent
ALPHA, PLANTED = 0.01, 0.10
WITHIN_S = (40, 300)  # least and most that a planted gate has
WORDS = {0: "not worse", 1: "worse", 3: "cannot be decided"}
NUMBERS = ("cpu", "mean", "p99", "max_rps")
NGINX = """#!/bin/sh
cat > "$0.$1" <<END
worker_processes 1; daemon off; pid $0.$1.pid; error_log /dev/null; user nobody nogroup;
events { worker_connections 1024; }
http { access_log off; server { listen 127.0.0.1:$1; root $(dirname "$0"); } }
END
exec nginx -c "$0.$1"
"""
# It takes up to a second to end by SIGTERM.
MEMCACHED = """#!/bin/sh
memcached -u nobody -t 1 -l 127.0.0.1 -p "$1" &
trap 'kill -9 $!; exit' TERM
wait
"""
DELAY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    static ssize_t (*next)(int, const struct msghdr *, int);
    if (!next) next = (ssize_t (*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
    long long end = now() + atoll(getenv("DELAY_NS"));
    while (now() < end) {}
    return next(fd, message, flags);
}
"""


@dataclass(frozen=True, slots=True)
class Case:
    """What is compared.

    Attributes:
        old: command of the first side, or its level.
        options: of the gate.
        margin: change that is allowed, as a share.
        number: that is judged.
        new: command of the second side; "": the first one, each reply delayed.
        same: what differs from `old` in nothing but words; "": `old` itself.
        key: of which both are levels; then it is `compare` that judges.
    """

    old: str
    options: tuple[str, ...]
    margin: float
    number: str = "cpu"
    new: str = ""
    same: str = ""
    key: str = ""

    def words(self, new: str) -> list[str]:
        """What is typed to hold `new` against `old`."""
        if self.key:
            return ["compare", *self.options, "--vary", f"{self.key}={self.old},{new}"]
        sides = ["gate", "--baseline", self.old, "--candidate", new]
        return [*sides, *self.options, "--max-regression", f"{self.margin:.0%}"]


def cases(folder: Path) -> dict[str, Case]:
    """Each case, its files in a folder that every user can enter."""
    folder.chmod(0o755)
    start = folder / "start"
    start.write_text(NGINX)
    start.chmod(0o755)
    (folder / "index.html").write_text("x" * 4096)
    killed = folder / "memcached"
    killed.write_text(MEMCACHED)
    killed.chmod(0o755)
    options = ("--rate", "10k", "--target", "memcache://{host}:{port}")
    serve = shlex.join([shutil.which("sojourn-serve") or "sojourn-serve", "--free-writes"])
    serve += " --port {port} --service fixed:"
    quick = ("--rate", "1k", "--target", "memcache://{host}:{port}")
    quota = ("--service", "memcached", "--no-shield")
    return {
        "serve": Case(f"{serve}200us", quick, 0.0, "mean", new=f"{serve}220us"),
        "quota": Case(
            "80%", quota, 0.0, "max_rps", new="72%", same="80ms/100ms", key="knobs.cpu_quota"
        ),
        "equal": Case(f"{start} {{port}}", ("--rate", "10k"), 0.0),
        "cpu": Case(f"{killed} {{port}}", options, 0.0),
        "max": Case(f"{killed} {{port}}", options, 0.0, "max_rps"),
    }


def slower(case: Case, base_ns: float, folder: Path) -> str:
    """The command of the second side; `base_ns`: CPU time for each request of the first one."""
    (folder / "delay.c").write_text(DELAY)
    made = ["gcc", "-O2", "-shared", "-fPIC", "-o", "delay.so", "delay.c"]
    subprocess.run(made, cwd=folder, check=True)
    delay = round(PLANTED * base_ns)
    return f"env LD_PRELOAD={folder}/delay.so DELAY_NS={delay} {case.old}"


def gate(case: Case, new: str, within: str, measure_s: float) -> dict[str, Any]:
    """One gate, measured into a folder that is thrown away."""
    words = [*case.words(new), "--numbers", case.number, "--json", "--quiet"]
    words += ["--within", within, "--measure-s", f"{measure_s:g}", "--alpha", f"{ALPHA:.0%}"]
    with tempfile.TemporaryDirectory(prefix="gates-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", "sojourn", *words, "--results", folder],
            capture_output=True,
            text=True,
            check=False,
            timeout=1800,
        )
        row: dict[str, Any] = {"typed": shlex.join(words), "code": done.returncode}
        if done.returncode not in WORDS:
            return {**row, "error": done.stderr[-600:]}
        section = next(part for part in _tables(json.loads(done.stdout)) if "first_alarm" in part)
        blocks = measured(next(iter(store.records(Path(folder)))))
    (own,) = section["rows"]
    keys = ("blocks", "block_s", "first_alarm", "answer")
    row |= {key: section[key] for key in keys}
    row |= {
        key: own[key] for key in ("ratio", "interval", "pairs", "scatter", "first_ns", "first_rps")
    }
    return {**row, "measured": blocks}


def _tables(value: Any) -> list[dict[str, Any]]:
    """Every object in a JSON value, the outer ones first."""
    own = [value] if isinstance(value, dict) else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return own + [table for part in inner for table in _tables(part)]


def measured(path: Path) -> dict[str, list[list[float]]]:
    """By number: (first side, second side) in each block."""
    record = store.read(path)
    blocks = block_runs.blocks_of(record.study, list(record.outcomes()))
    is_full = block_runs.FULL in block_runs.phases(record.study)
    return {
        number: [[block_runs.value_of(one, number) for one in runs.values()] for runs in blocks]
        for number in NUMBERS
        if is_full is (number == block_runs.MAX_RPS)
    }


def stated_s(pilot: dict[str, Any], case: Case) -> float:
    """The time that the pilot states for a change of 10 %, s."""
    if case.key:
        blocks = visible_change.blocks_for(PLANTED, pilot["scatter"], ALPHA / 2)
    else:
        blocks = visible_change.gate_blocks(PLANTED, pilot["scatter"], ALPHA, case.margin)
    return math.inf if blocks is None else blocks * pilot["block_s"]


def otava(python: Path, runs: list[Floats]) -> list[bool]:
    """Whether Apache Otava reports a change in ten runs of the old side and ten of the new one."""
    rows = np.array([[*one[: rules.BLOCKS, 0], *one[: rules.BLOCKS, 1]] for one in runs])
    per_cent = 100 * rows / rows.mean(axis=1, keepdims=True)
    with tempfile.TemporaryDirectory(prefix="gates-otava-") as name:
        # The other side adds 100, because it is made for series around 0.
        series = {"rows": per_cent - 100, "p_value": 0.001, "first": 2 * rules.BLOCKS}
        np.savez(Path(name) / "pairs.npz", **series)
        words = [str(python), str(HERE / "otava_side.py"), name]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [int(word) > 0 for word in done.stdout.split()]


def alarms(runs: Floats) -> bool:
    """Whether the rule of a gate for this number alone alarms, at a limit of 0 %."""
    if not len(runs):
        return False
    logs = {"it": np.log(runs[:, 1] / runs[:, 0])}
    return gate_rule.decide(logs, 0.0, ALPHA).first is not None


def table(rows: list[dict[str, Any]], python: Path | None) -> None:
    """What each rule says of the same blocks; `python`: one that has Otava."""
    judged = [row for row in rows if row["code"] in WORDS]
    counts = {f"gate: {word}": [row["code"] == code for row in judged]
              for code, word in WORDS.items()}  # fmt: skip
    counts["gate: first alarm"] = [row["first_alarm"] is not None for row in judged]
    for number in NUMBERS:
        known = [row["measured"][number] for row in judged if number in row["measured"]]
        runs = [np.array(blocks, float) for blocks in known]
        whole = [one for one in runs if len(one) >= rules.BLOCKS and np.isfinite(one).all()]
        counts[f"first alarm of the gate's rule: {number}"] = [alarms(one) for one in runs]
        for name, rule in rules.RULES.items() if whole else ():
            counts[f"{name}: {number}"] = [rule(one) for one in whole]
        if python and whole:
            counts[f"Otava on 10 runs: {number}"] = otava(python, whole)
    for name, hits in counts.items():
        if hits:
            low, high = exact.interval(sum(hits), len(hits))
            print(f"| {name} | {sum(hits)} of {len(hits)} ({low:.1%} to {high:.1%}) |")


def main() -> int:
    """Gates, printed as they end; exit 2 if none was judged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=("equal", "cpu", "max", "serve", "quota"))
    parser.add_argument("--gates", type=int, default=10)
    parser.add_argument("--within", default="40s", help="of a gate of equal services")
    parser.add_argument("--measure-s", type=float, default=0.2)
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    parser.add_argument("--out", type=Path)
    parser.add_argument("--otava", type=Path, metavar="PYTHON", help="one with apache-otava")
    parser.add_argument("--read", type=Path, nargs="+", help="measure nothing: rows of before")
    args = parser.parse_args()
    if args.read:
        lines = (line for path in args.read for line in path.read_text().splitlines())
        table([json.loads(line) for line in lines], args.otava)
        return 0
    out = args.out or HERE / "runs" / f"gates-{args.case}-{stamp}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="gates-files-") as name:
        folder = Path(name)
        case = cases(folder)[args.case]
        new, within = case.old, args.within
        if args.case != "equal":
            pilot = gate(case, case.same or case.old, within, args.measure_s)
            if not pilot.get("scatter"):
                print(f"the pilot says nothing: {pilot}", file=sys.stderr)
                return 2
            asked_s, (least, most) = stated_s(pilot, case), WITHIN_S
            length_s = min(max(asked_s, least), most)
            base_ns = pilot["first_ns"] or 1e9 / pilot["first_rps"]
            base = f"scatter {pilot['scatter']:.3f}, {show_ns(base_ns)} a request"
            print(f"pilot: {base}; stated {asked_s:.0f} s, has {length_s:.0f} s", flush=True)
            new, within = case.new or slower(case, base_ns, folder), f"{length_s:.0f}s"
        for number in range(args.gates):
            row = {"case": args.case, "within": within, **gate(case, new, within, args.measure_s)}
            rows.append(row)
            with out.open("a") as file:
                file.write(json.dumps(row).replace(name, "FOLDER") + "\n")
            word = WORDS.get(row["code"], row.get("error", ""))
            print(f"{number + 1}: {word}, {row.get('blocks')} blocks", flush=True)
    table(rows, args.otava)
    print(f"rows: {out}")
    return 0 if any(row["code"] in WORDS for row in rows) else 2


if __name__ == "__main__":
    sys.exit(main())
