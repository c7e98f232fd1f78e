"""How the lab's own cost grows: points, requests, connections, traced threads.

Usage: .venv/bin/python bench/growth.py [--only points,requests,connections,threads] [--large]

Each step is a process of its own; CPU time (user and system) and largest memory are the kernel's
for it (wait4). That memory is at least this bench's own, because a process begins as a copy of it:
what is not above is `at_most`. The slope is that of a straight line through all steps in log-log: 1
is linear. The last step's slope is beside it, because a fixed cost hides growth in small steps.
Records of points are made by `campaign/make.py`, which simulates what each point would have
measured. `--large` goes to 10,000 points and a billion requests (an hour); without it, 1,000 and a
hundred million.
Rows are stored in bench/runs/<UTC>-growth.json.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from sojourn.places import ports

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
LIMIT_S = 3600.0
RATE = 20_000  # requests/s of what has connections or traced threads
SECONDS = 5
START_S_MAX = 10.0


@dataclass(frozen=True, kw_only=True)
class Row:
    """One step: `size` of `axis`, and what `name` cost there, or less than that."""

    axis: str
    name: str
    size: float
    cost: float
    unit: str
    at_most: bool = False


def memory_row(axis: str, name: str, size: float, peak_mb: float) -> Row:
    """A row of memory."""
    own_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    at_most = peak_mb <= 1.02 * own_mb
    return Row(axis=axis, name=name, size=size, cost=peak_mb, unit="MB", at_most=at_most)


def timed(words: list[str], cache: Path | None = None) -> tuple[float, float]:
    """CPU time, s, and largest memory, MB; a command that fails ends the bench."""
    env = {**os.environ, **({"XDG_CACHE_HOME": str(cache)} if cache else {}), "TERM": "dumb"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, every start would compile the whole lab
    process = subprocess.Popen(
        ["/usr/bin/timeout", str(LIMIT_S), *words],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    stderr = process.stderr.read() if process.stderr else b""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in {0, 3, 4}:  # 3, 4: verdicts
        sys.exit(f"error: {words[0]} ended with {process.returncode}: {stderr.decode()[-300:]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def of_points(*, is_large: bool, records: Path | None) -> Iterator[Row]:
    """Commands of one record, by its points."""
    sizes = [10, 100, 1_000, *([10_000] if is_large else [])]
    lab = [sys.executable, "-P", "-m", "sojourn"]
    with tempfile.TemporaryDirectory(prefix="sojourn-growth-") as name:
        for size in sizes:
            results, cache = (records or Path(name)) / str(size), Path(name) / "cache"
            made = [HERE / "campaign" / "make.py", results, "--points", size]
            subprocess.run([sys.executable, *map(str, made)], check=True, stdout=sys.stderr)
            (record,) = (path.parent for path in results.glob("*/*/*/manifest.json"))
            stored = sum(path.stat().st_size for path in record.rglob("*") if path.is_file())
            yield Row(axis="points", name="size of the record", size=size, cost=stored, unit="B")
            own = ["--results", str(results)]
            for label, words in (
                ("report", ["report", str(record)]),
                ("report again", ["report", str(record)]),
                ("show", ["show", str(record)]),
                ("sql", ["sql", "select count(*) from outcomes", *own]),
                ("ls", ["ls", *own]),
            ):
                if not label.endswith("again"):
                    shutil.rmtree(cache, ignore_errors=True)
                cpu_s, peak_mb = timed([*lab, *words], cache)
                yield Row(axis="points", name=label, size=size, cost=cpu_s, unit="s")
                yield memory_row("points", label, size, peak_mb)
                if label == "report":
                    page = (record / "report.html").stat().st_size
                    yield Row(axis="points", name="page", size=size, cost=page, unit="B")
            if records is None:
                shutil.rmtree(results)


def of_requests(*, is_large: bool, records: Path | None) -> Iterator[Row]:
    """Generator and simulator, by the requests of one run."""
    del records
    for size in (10**6, 10**7, 10**8, *([10**9] if is_large else [])):
        words = ["queue", "--rate", "0.8", "--requests", str(size), "--warmup", "0"]
        cpu_s, peak_mb = timed([str(BIN / "sojourn-sim"), *words])
        yield Row(axis="requests", name="sojourn-sim", size=size, cost=cpu_s, unit="s")
        yield memory_row("requests", "sojourn-sim", size, peak_mb)
    for seconds in (1, 10, 100, *([1_000] if is_large else [])):
        size = seconds * 100_000
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            words = ["null:", "--rate", "100k", "--duration", f"{seconds}s", "--json", file.name]
            cpu_s, peak_mb = timed([str(BIN / "sojourn-load"), *words, "--wait", "sleep"])
            stored = Path(file.name).stat().st_size
        yield Row(axis="requests", name="sojourn-load", size=size, cost=cpu_s, unit="s")
        yield memory_row("requests", "sojourn-load", size, peak_mb)
        yield Row(axis="requests", name="result of sojourn-load", size=size, cost=stored, unit="B")


@contextmanager
def memcached(threads: int) -> Iterator[tuple[int, int]]:
    """Process and port of a memcached of its own."""
    port = ports.free()
    words = f"memcached -l 127.0.0.1 -p {port} -t {threads} -m 64 -c 16000 -U 0".split()
    words += ["-u", "nobody"] if os.geteuid() == 0 else []
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        until_s = time.monotonic() + START_S_MAX
        while not ports.listeners(port):
            if time.monotonic() > until_s:
                sys.exit("error: memcached does not listen\n  at: bench/growth.py")
            time.sleep(0.02)
        yield process.pid, port
    finally:
        process.terminate()
        process.wait(20)


def load(port: int, connections: int, seconds: float) -> list[str]:
    words = f"memcache://127.0.0.1:{port} --rate {RATE} --duration {seconds}s --wait sleep".split()
    return [str(BIN / "sojourn-load"), *words, "--connections", str(connections), "--warmup", "1s"]


def of_connections(*, is_large: bool, records: Path | None) -> Iterator[Row]:
    """The generator, by its connections at one rate."""
    del is_large, records
    for size in (1, 10, 100, 1_000, 10_000):
        with memcached(4) as (_, port):
            cpu_s, peak_mb = timed(load(port, size, SECONDS))
        requests = RATE * (SECONDS + 1)
        cost_us = 1e6 * cpu_s / requests
        yield Row(axis="connections", name="CPU a request", size=size, cost=cost_us, unit="µs")
        yield memory_row("connections", "sojourn-load", size, peak_mb)


def of_threads(*, is_large: bool, records: Path | None) -> Iterator[Row]:
    """The tracer, by the threads of the server under one load."""
    del is_large, records
    for size in (1, 4, 16, 64):
        with memcached(size) as (pid, port):
            client = subprocess.Popen(load(port, 128, SECONDS + 5), stdout=subprocess.DEVNULL)
            time.sleep(2.0)
            words = ["--pid", str(pid), "--duration", f"{SECONDS}s", "--port", str(port)]
            cpu_s, peak_mb = timed([str(BIN / "sojourn-trace"), *words])
            client.wait(60)
        yield Row(axis="traced threads", name="sojourn-trace", size=size, cost=cpu_s, unit="s")
        yield memory_row("traced threads", "sojourn-trace", size, peak_mb)


PARTS: dict[str, Callable[..., Iterator[Row]]] = {
    "points": of_points,
    "requests": of_requests,
    "connections": of_connections,
    "threads": of_threads,
}


def slope(steps: list[tuple[float, float]]) -> float:
    """Of a straight line by least squares through the logarithms of sizes and costs."""
    xs, ys = ([math.log(max(pair[at], 1e-9)) for pair in steps] for at in (0, 1))
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread


def shown(row: Row) -> str:
    """A cost as people read it."""
    text = f"{row.cost:,.3g}" if row.cost < 100 else f"{row.cost:,.0f}"
    return f"≤ {text}" if row.at_most else text


def table(rows: list[Row]) -> str:
    """A line for each cost: sizes, costs, slope of all steps and of the last."""
    lines = ["| by | cost of | sizes | costs | slope | last step |", "|---" * 6 + "|"]
    for key in dict.fromkeys((row.axis, row.name, row.unit) for row in rows):
        own = [row for row in rows if (row.axis, row.name, row.unit) == key]
        steps = [(row.size, row.cost) for row in own]
        sizes = " / ".join(f"{size:,.0f}" for size, _ in steps)
        costs = " / ".join(map(shown, own))
        slopes = f"{slope(steps):.2f} | {slope(steps[-2:]):.2f}"
        lines.append(f"| {key[0]} | {key[1]}, {key[2]} | {sizes} | {costs} | {slopes} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default=",".join(PARTS), metavar="NAME,NAME")
    parser.add_argument("--large", action="store_true", help="to 10,000 points, 10^9 requests")
    parser.add_argument("--records", type=Path, help="where records are made, or are already")
    asked = parser.parse_args()
    names = asked.only.split(",")
    if unknown := set(names) - set(PARTS):
        parser.error(f"--only {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    rows: list[Row] = []
    for name in names:
        for row in PARTS[name](is_large=asked.large, records=asked.records):
            rows.append(row)
            print(f"{row.axis} {row.size:,.0f}: {row.name} {row.cost:.4g} {row.unit}", flush=True)
    at = HERE / "runs" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-growth.json"
    at.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    print(f"\n{table(rows)}\n\nrows: {at.relative_to(HERE.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
