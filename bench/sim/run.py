"""Compare the simulator with SimPy, Ciw and plain C++: interleaved, rows stored.

Usage: .venv/bin/python bench/sim/run.py [--rounds 5] [--requests 10M]

SimPy and Ciw come from PyPI into a venv of their own under target/; peers/mm4.cpp is compiled by
g++ -O3, where there is one. What is compared is requests per second of CPU time, start of the
program included: a stolen CPU then hurts all alike. Each tool's mean sojourn time is printed beside
the closed form, to show that all simulate the same queue. A fleet runs on one thread and on two:
the ratio is that of times by the clock, because CPU time does not see a second thread that waits.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
VENV = ROOT / "target" / "bench-sim-venv"
PLAIN = ROOT / "target" / "bench-sim-mm4"
KNOWN_MEAN_S = 1.74564  # M/M/4 at 3.2 erlangs: Erlang C
PEER_REQUESTS = 50_000
FLEETS: dict[int, str] = {}  # by round, what was simulated
#: Service that has no closed form, so that every request is simulated.
FLEET = {"servers": 3000, "service": "lognormal:10,1", "samples": 500}
OURS = "sojourn-sim"


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One run of one tool."""

    round: int
    case: str
    tool: str
    items: int
    wall_s: float
    cpu_s: float
    rss_kb: int
    mean_s: float | None

    @property
    def per_cpu_s(self) -> float:
        return self.items / self.cpu_s


def main() -> int:
    asked = arguments()
    python, plain = peers(), compiled()
    rows: list[Row] = []
    order = random.Random(1)  # noqa: S311 - an order, no secret
    for number in range(asked.rounds):
        runs = [
            lambda n=number: mm4(n, OURS, ours(asked.requests), asked.requests),
            lambda n=number: mm4(n, OURS + "-1M", ours(1_000_000), 1_000_000),
            lambda n=number: mm4(n, "simpy", peer(python, "simpy_mm4", n), PEER_REQUESTS),
            lambda n=number: mm4(n, "ciw", peer(python, "ciw_mm4", n), PEER_REQUESTS),
            lambda n=number: fleet(n, threads=1),
            lambda n=number: fleet(n, threads=2),
            lambda n=number: machine(n, "sched 1 CPU, CFS, square wave", cpus=1),
            lambda n=number: machine(n, "sched 12 CPUs, CFS, square wave", cpus=12),
        ]
        if plain is not None:
            words = [str(plain), str(asked.requests), str(number)]
            runs.append(lambda n=number, w=words: mm4(n, "C++", w, asked.requests))
        rows += [run() for run in order.sample(runs, len(runs))]
    text = show(rows)
    print(text)
    print(f"\nkept in {keep(rows, text)}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="runs of each tool (5)")
    parser.add_argument("--requests", type=int, default=10_000_000, help="ours, per run (10M)")
    return parser.parse_args()


def peers() -> Path:
    """The Python that has SimPy and Ciw; made once."""
    python = VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        needs = str(HERE / "requirements.txt")
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", needs], check=True)
    return python


def compiled() -> Path | None:
    """The plain C++; `None` without a compiler."""
    compiler = shutil.which("g++")
    if compiler is None:
        print("without C++: apt install g++", file=sys.stderr)
        return None
    source = str(HERE / "peers" / "mm4.cpp")
    subprocess.run([compiler, "-O3", "-march=native", "-o", PLAIN, source], check=True)
    return PLAIN


def ours(requests: int) -> list[str]:
    program = Path(sys.executable).with_name("sojourn-sim")
    result = os.environ.get("SOJOURN_SIM", str(program))
    return [
        result,
        "queue",
        "--rate",
        "3.2",
        "--service",
        "exponential:1",
        "--servers",
        "4",
        "--warmup",
        "0",
        "--requests",
        str(requests),
        "--json",
        "-",
    ]


def peer(python: Path, name: str, seed: int) -> list[str]:
    return [str(python), str(HERE / "peers" / f"{name}.py"), str(PEER_REQUESTS), str(seed)]


def timed(command: list[str], text: str = "") -> tuple[str, float, float, int]:
    """Output, wall time and CPU time, s, and largest resident set, kB."""
    started = time.monotonic()
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    if child.stdin is None or child.stdout is None:
        sys.exit("error: no pipes\n  at: bench/sim")
    child.stdin.write(text)
    child.stdin.close()
    out = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in {0, 3}:
        sys.exit(f"error: {command[0]} ended with {child.returncode}\n  at: bench/sim")
    return out, time.monotonic() - started, used.ru_utime + used.ru_stime, used.ru_maxrss


def mm4(number: int, tool: str, command: list[str], requests: int) -> Row:
    out, wall_s, cpu_s, rss_kb = timed(command)
    if tool.startswith(OURS):
        mean_s = json.loads(out)["sojourn_ns"]["mean"] / 1e9
    else:
        mean_s = float(out.split()[1])
    return Row(number, "M/M/4", tool, requests, wall_s, cpu_s, rss_kb, mean_s)


def fleet(number: int, *, threads: int) -> Row:
    """Hours of servers; the result must not depend on the threads."""
    words = ["fleet", "--job", "-", "--json", "-", "--threads", str(threads)]
    out, wall_s, cpu_s, rss_kb = timed([ours(1)[0], *words], json.dumps({**FLEET, "seed": number}))
    FLEETS.setdefault(number, out)
    if out != FLEETS[number]:
        sys.exit("error: the fleet differs by its threads\n  at: bench/sim")
    hours = 24 * int(FLEET["servers"])
    return Row(number, f"fleet, {threads} thread(s)", OURS, hours, wall_s, cpu_s, rss_kb, None)


def machine(number: int, case: str, *, cpus: int) -> Row:
    """Scheduler events, counted by the engine itself."""
    job = {
        "cpus": cpus,
        "policy": "cfs",
        "services": [{"rate": str(50_000 * cpus), "workers": cpus}],
        "neighbours": [{"cpus": list(range(cpus))}],
        "duration": f"{60 // cpus}s",
    }
    command = [ours(1)[0], "sched", "--job", "-", "--json", "-"]
    out, wall_s, cpu_s, rss_kb = timed(command, json.dumps(job))
    return Row(number, case, OURS, json.loads(out)["events"], wall_s, cpu_s, rss_kb, None)


def show(rows: list[Row]) -> str:
    head = ("items/CPU s", "items/wall s", "RSS MB", "mean s")
    lines = [f"{'case':<32}{'tool':<16}" + "".join(f"{h:>14}" for h in head)]
    keys = sorted({(row.case, row.tool) for row in rows})
    for case, tool in keys:
        group = [row for row in rows if (row.case, row.tool) == (case, tool)]
        cpu = median(row.per_cpu_s for row in group)
        wall = median(row.items / row.wall_s for row in group)
        rss = median(row.rss_kb for row in group) / 1000
        means = [row.mean_s for row in group if row.mean_s is not None]
        mean = f"{sum(means) / len(means):.3f}" if means else "-"
        lines.append(f"{case:<32}{tool:<16}{cpu:>14,.0f}{wall:>14,.0f}{rss:>14.1f}{mean:>14}")
    lines.append(f"closed form of the M/M/4's mean: {KNOWN_MEAN_S} s\n")
    tools = {row.tool for row in rows}
    lines += [ratio(rows, tool) for tool in ("simpy", "ciw", "C++") if tool in tools]
    return "\n".join([*lines, two_threads(rows)])


def two_threads(rows: list[Row]) -> str:
    """How much sooner a fleet is done by two threads."""
    wall_s = {(row.round, row.case): row.wall_s for row in rows if row.case.startswith("fleet")}
    one, two = (f"fleet, {n} thread(s)" for n in (1, 2))
    results = sorted(wall_s[n, one] / wall_s[n, two] for n, case in wall_s if case == one)
    return (
        f"fleet, time by one thread / by two: median {median(results):.2f}, "
        f"least {results[0]:.2f}, most {results[-1]:.2f} of {len(results)} rounds"
    )


def ratio(rows: list[Row], tool: str) -> str:
    by_round = {(row.round, row.tool): row.per_cpu_s for row in rows if row.case == "M/M/4"}
    rounds = sorted({row.round for row in rows})
    results = sorted(by_round[n, OURS] / by_round[n, tool] for n in rounds)
    return (
        f"{OURS} / {tool}, requests per CPU second: median {median(results):.2f}, "
        f"least {results[0]:.2f}, most {results[-1]:.2f} of {len(results)} rounds"
    )


def keep(rows: list[Row], text: str) -> Path:
    """Raw rows, the summary, and the machine, under bench/sim/runs."""
    now = datetime.now(UTC)
    folder = HERE / "runs" / f"{now:%Y-%m-%d}-{platform.machine()}-{os.cpu_count()}cpu"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "raw.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(field.name for field in dataclasses.fields(Row))
        writer.writerows(dataclasses.astuple(row) for row in rows)
    (folder / "summary.txt").write_text(text + "\n")
    needs = (HERE / "requirements.txt").read_text().split()
    facts = f"# {now:%Y-%m-%d %H:%M} UTC\n\n{cpu_name()}, {os.cpu_count()} CPUs, Linux "
    facts += f"{platform.release()}, Python {platform.python_version()}, {', '.join(needs)}.\n"
    facts += "`bench/sim/run.py`; rows in `raw.csv`, medians and ratios in `summary.txt`.\n"
    (folder / "README.md").write_text(facts)
    return folder.relative_to(ROOT)


def cpu_name() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    sys.exit(main())
