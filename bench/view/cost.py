"""What a page that shows a running study does to the tail: with it and without, in turn.

memcached on CPU 0, the client on CPU 1, as on the smallest machine. The record grows by a point
a load, with the files and the pauses of a study: a second passes from the outcome of a load to the
next load's job. `--beside` is harsher: a point every two seconds while load runs, without a file
that says so. The ways, each once a round in random order:

    none      without a view
    view      `sojourn view` runs, and a page waits for its events; the page is a plain client
    browser   the same page in a headless Chromium on the same two CPUs, which draws it

View and browser are started once; where they do not belong to a run they are stopped (SIGSTOP).
Each way is set against "none" of the same round: geometric mean of the ratios with a 95 % interval
(Student's, of the logarithms). No run is left out; a pair in which a number is missing is counted.
CPU seconds of view and browser are the kernel's own sums, of a point and of its load alone, so they
do not depend on what else the machine does.

A bound of p99 follows from them. Requests that arrive while the view runs on either CPU, and until
the server has worked off what waited, are a share s = used / length / (1 − utilisation) of all. If
all of them became slow, p99 would be what the quantile 0.99 + s is without them, and no more.

    .venv/bin/python bench/view/cost.py [--rounds 12] [--seconds 7] [--rate 40000] [--beside]
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import math
import os
import random
import runpy
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import duckdb
import numpy as np

from sojourn import disk, spec, store
from sojourn.plan import Outcome, next_point
from sojourn.plan.rehearsal import imagine
from sojourn.questions import PLANS
from sojourn.view.browser_testing import CHROMIUM, Browser

HERE = Path(__file__).parent
tail = SimpleNamespace(**runpy.run_path(str(HERE.parent / "trace/tail.py")))
servers = SimpleNamespace(**runpy.run_path(str(HERE.parent / "servers.py")))
RATE, POINTS, WARM_S = 40_000, 40, 1.0
SEEN = ("mean", "p99", "p999")
EVERY_S, SETTLE_S = 2.0, 1.5
GAP_S = (
    1.2  # from a point's folder to its load's job: 1.0 to 1.6 of `max_load_memcached`, 12 points
)
BOUNDS = {"p99": 1.01}
WORDS = (
    "memcache://127.0.0.1:{port} --preload --items 1000 --rate {rate} --connections 64 --wait sleep"
)


class Study:
    """A record that grows while it is looked at, by points that were made before."""

    def __init__(self, results: Path, *, is_beside: bool) -> None:
        self._is_beside, self._numbers = is_beside, itertools.count()
        study = spec.load("max_load_memcached", profile="quick")
        self._made: list[Outcome] = []
        while len(self._made) < POINTS and (point := next_point(study, self._made, PLANS)):
            self._made.append(imagine(point))
        self.record = store.open(results, study, machine="m", manifest={})
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        self.record.__enter__()
        self._thread = threading.Thread(target=self._grow, daemon=True)
        if self._is_beside:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._is_beside:
            self._thread.join()
        self.record.__exit__(None, None, None)

    def before_load(self) -> None:
        """Begin a point, and say that its load begins."""
        if self._is_beside:
            return
        self._now = self._next()
        time.sleep(GAP_S)
        job = {"cpus": "1", "server_cpus": "0"}
        disk.keep_json(Path(self._now.folder) / "load.job.json", job)

    def after_load(self) -> None:
        """Store the point of the load that has just ended."""
        if not self._is_beside:
            disk.keep_json(Path(self._now.folder) / "run.json", {})
            self.record.add(self._now)

    def _grow(self) -> None:
        while not self._stop.wait(EVERY_S):
            self.record.add(self._next())

    def _next(self) -> Outcome:
        """The last one again and again at the end: the page is drawn anew all the same."""
        outcome = self._made[min(next(self._numbers), len(self._made) - 1)]
        return replace(outcome, folder=str(self.record.folder(outcome.point)))


class Looking:
    """A view with a page that waits: a plain client, or a browser."""

    def __init__(self, results: Path, name: str, profile: Path) -> None:
        command = [sys.executable, "-m", "sojourn", "view", str(results), "--port", "0"]
        self._view = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self._view.stdout.readline().split()[1]
        address, _, key = self.url.partition("/?key=")
        self._host = address.removeprefix("http://")
        self._path = f"/{key}/r/{name}"
        self.browser = Browser(profile).__enter__() if CHROMIUM else None
        if self.browser:
            self.browser.open(self.url)
            self.browser.open(f"{address}{self._path}")
        self._link = http.client.HTTPConnection(self._host, timeout=600)
        self._link.request("GET", f"{self._path}/events")
        self._reply = self._link.getresponse()
        self.events = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            while self._reply.readline():
                self.events += 1

    def go_on(self, way: str) -> None:
        """Run what belongs to a way, stop the others."""
        self._view.send_signal(signal.SIGCONT if way != "none" else signal.SIGSTOP)
        if self.browser:
            for pid in servers.family(self.browser._process.pid):  # noqa: SLF001
                os.kill(pid, signal.SIGCONT if way == "browser" else signal.SIGSTOP)

    def cpu_s(self) -> dict[str, float]:
        """CPU seconds so far of the view and of the browser with all its processes."""
        pids = servers.family(self.browser._process.pid) if self.browser else ()  # noqa: SLF001
        return {"view": cpu_s([self._view.pid]), "browser": cpu_s(pids)}

    def end(self) -> None:
        self.go_on("browser")
        if self.browser:
            self.browser.__exit__(None, None, None)
        self._view.terminate()
        self._view.wait()


def cpu_s(pids: Iterable[int]) -> float:
    """What all threads of some processes ran, by the scheduler's sum in ns."""
    result = 0
    for path in itertools.chain(*(Path(f"/proc/{pid}/task").glob("*/schedstat") for pid in pids)):
        with contextlib.suppress(OSError):
            result += int(path.read_text("ascii").split()[0])
    return result / 1e9


def run(args: argparse.Namespace, port: int, folder: Path) -> tuple[dict[str, Any], np.ndarray]:
    """The client's times, ns; None where too few requests say what one is. And all of them."""
    path, raw = folder / "load.json", folder / "raw.parquet"
    words = WORDS.format(port=port, rate=args.rate).split()
    more = ["--cpus", "1", "--warmup", "1s", "--duration", f"{args.seconds}s", "--json", str(path)]
    more += ["--raw", str(raw), "--raw-max", str(2 * args.rate * args.seconds)]
    command = [str(args.bin / "sojourn-load"), *words, *more]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, check=False, timeout=args.seconds + 60, **quiet)
    table = json.loads(path.read_text())
    seen = {seen: table["sojourn_ns"][seen] for seen in SEEN} | {"verdict": table["verdict"]}
    query = f"select done_ns - intended_ns from '{raw}' where not excluded"  # noqa: S608
    return seen, np.array([one for (one,) in duckdb.sql(query).fetchall()], dtype=float)


def most(times: np.ndarray, used_s: float, length_s: float, busy: float) -> float | None:
    """Most by which p99 can be larger if `used_s` was taken from client and server; see above."""
    share = used_s / length_s / (1 - min(busy, 0.99))
    if share >= 0.01:  # all that is above p99
        return None
    p99, beyond = np.quantile(times, [0.99, 0.99 + share])
    return float(beyond / p99)


@contextmanager
def scene(*, is_beside: bool) -> Iterator[tuple[Path, Study, Looking]]:
    with (
        tempfile.TemporaryDirectory(prefix="sojourn-view-", ignore_cleanup_errors=True) as name,
        Study(Path(name) / "results", is_beside=is_beside) as study,
    ):
        study.before_load()
        study.after_load()
        time.sleep(2 * EVERY_S)
        of_record = str(study.record.path.relative_to((Path(name) / "results").absolute()))
        looking = Looking(Path(name) / "results", of_record, Path(name) / "profile")
        try:
            yield Path(name), study, looking
        finally:
            looking.end()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=7)
    parser.add_argument("--rate", type=int, default=RATE)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--name", default="view-cost", help="of the file of rows")
    parser.add_argument("--beside", action="store_true", help="points arrive while load runs")
    args = parser.parse_args()
    ways = ["none", "view", *(["browser"] if CHROMIUM else [])]
    rounds: list[dict[str, Any]] = []
    path = HERE.parent / "runs" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{args.name}.json"
    with (
        scene(is_beside=args.beside) as (folder, study, looking),
        servers.started("memcache", 0) as (server, port),
    ):
        for number in range(args.rounds):
            rows = {}
            for way in random.sample(ways, len(ways)):
                looking.go_on(way)
                time.sleep(SETTLE_S)
                rows[way] = point(args, (server, port), folder, study, looking)
            rounds.append(rows)
            path.write_text(json.dumps(rounds, indent=1) + "\n")
            line = "  ".join(f"{w} {(rows[w]['p99'] or math.nan) / 1e3:.0f} µs" for w in ways)
            print(f"{number + 1}: {line}", flush=True)
    for way in ways[1:]:
        show(way, rounds)
    print(f"stored in {path}")
    return 0


def point(
    args: argparse.Namespace, server: tuple[int, int], folder: Path, study: Study, looking: Looking
) -> dict[str, Any]:
    """One point: its times, and what view and browser cost until its page is drawn."""
    pid, port = server
    events, began = looking.events, looking.cpu_s()
    study.before_load()
    before, served_s = looking.cpu_s(), cpu_s([pid])
    row, times = run(args, port, folder)
    after, served_s = looking.cpu_s(), cpu_s([pid]) - served_s
    used_s, length_s = sum(after.values()) - sum(before.values()), args.seconds + WARM_S
    study.after_load()
    time.sleep(SETTLE_S)
    end = looking.cpu_s()
    return {
        **row,
        "p99_most": most(times, used_s, length_s, served_s / length_s),
        "events": looking.events - events,
        "cpu_ms": {who: 1e3 * (end[who] - began[who]) for who in end},
        "cpu_ms_in_load": {who: 1e3 * (after[who] - before[who]) for who in after},
    }


def show(way: str, rounds: list[Mapping[str, Any]]) -> None:
    """Ratios of a way to `none`, and the median of its CPU time a point."""
    for seen in SEEN:
        pairs = [(r[way][seen], r["none"][seen]) for r in rounds]
        ratios = [own / none for own, none in pairs if own and none]
        lacking = f", {len(pairs) - len(ratios)} pairs lack it" * (len(ratios) < len(pairs))
        print(f"{way} {seen} {tail.over_none(ratios, BOUNDS.get(seen))}{lacking}")
    bounds = [r[way]["p99_most"] or math.inf for r in rounds]
    print(f"{way} p99 at most by what it ran: ×{statistics.median(bounds):.4f} ({max(bounds):.4f})")
    for key, who in itertools.product(("cpu_ms", "cpu_ms_in_load"), ("view", "browser")):
        values = sorted(r[way][key][who] for r in rounds)
        middle = statistics.median(values)
        print(f"{way} {key} of {who}: {middle:.1f} ({values[0]:.1f} to {values[-1]:.1f})")


if __name__ == "__main__":
    sys.exit(main())
