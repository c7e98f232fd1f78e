"""How often does the lab stop its own client? The same job beside the same memcached, in turn.

Usage: .venv/bin/python bench/lab_stops.py [--rounds 10] [--seconds 5] [--rate 30000] [--terminal]

- `alone`: `sojourn-load` with the job of a point shows no progress; this program waits for its end;
- `lab`: the same job as a point of a study: its progress is followed, the service is sampled, the
  machine's counters are read; with `--terminal` the display of `sojourn run` is drawn, too.

Which of both comes first changes from round to round. Counted are stops of the client, as the
generator logs them (gaps above 0.2 ms in which it waited for its CPU): how many a second, and
their share of the time. Others who use the machine stop both alike, so what the lab adds is the
difference. With `--who` the kernel's switches say in each run who else ran on the client's CPU in
the middle of the load: the lab, its sampler, the other threads of the generator, and all others.
The rows are kept under bench/runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from sojourn import host, programs, run, spec
from sojourn.cli.live import Display
from sojourn.plan import Phase, Point
from sojourn.questions import PLANS

STUDY = """
name = "lab_stops"
question = "How often does the lab stop its own client?"
seed = 1
[run]
profile = "quick"
[[services]]
kind = "memcached"
measure = ["sweep"]
[services.qos]
q = 0.99
bound = "1ms"
[services.load]
connections = 64
"""
RUNS = Path(__file__).parent / "runs"
WARMUP_S = 0.5
LEAD_S, TRAIL_S = 1.5, 1.0  # of the load, in which it is not looked at who runs there
ALONE, LAB = "alone", "lab"
PARTIES = ("lab", "sampler", "generator", "others")
NUMBERS = (("stops_per_s", 1.0, 2), ("share", 100.0, 3), ("p99_us", 1.0, 0))
Show = Callable[[run.Event], None]


def main() -> int:
    asked = arguments()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="sojourn-lab-stops-") as name, ExitStack() as stack:
        bench = Bench(Path(name), asked, stack)
        bench.by_the_lab(0)  # starts the service; not counted
        for number in range(1, asked.rounds + 1):
            for which in (ALONE, LAB) if number % 2 else (LAB, ALONE):
                measured = bench.alone if which == ALONE else bench.by_the_lab
                rows.append({"round": number, "arm": which, **measured(number)})
                print(summary(rows[-1]), flush=True)
    print(table(rows))
    print(f"kept in {keep(asked, rows)}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10, help="pairs of runs (10)")
    parser.add_argument("--seconds", type=float, default=5.0, help="measured in each run, s (5)")
    parser.add_argument("--rate", type=float, default=30_000.0, help="requests/s (30000)")
    parser.add_argument("--terminal", action="store_true", help="draw the display, to nowhere")
    parser.add_argument("--who", action="store_true", help="name who ran there; needs root")
    parser.add_argument("--label", default="", help="a word about what is measured, kept with it")
    return parser.parse_args()


class Bench:
    """A study with one service that runs on; runs of one load."""

    def __init__(self, folder: Path, asked: argparse.Namespace, stack: ExitStack) -> None:
        self._folder = folder
        path = folder / "lab_stops.toml"
        path.write_text(STUDY, encoding="utf-8")
        self._study = spec.load(path)
        self._point = PLANS.stated(
            Point(
                key="memcached/search/b0",
                service="memcached",
                phase=Phase.SEARCH,
                offered_rps=asked.rate,
                measure_s=asked.seconds,
                warmup_s=WARMUP_S,
                seed=7,
                overrides=(("qos_bound", "1ms"), ("qos_quantile", 0.99)),
            )
        )
        facts = host.read(sample_s=0.0)
        show = self._display(stack) if asked.terminal else lambda _event: None
        self._session = stack.enter_context(run.Session(facts, show=show))
        self._client = host.place(facts.topology, threads=1).client[0]
        self._who_s = asked.seconds + WARMUP_S - LEAD_S - TRAIL_S if asked.who else 0.0

    def _display(self, stack: ExitStack) -> Show:
        nowhere = Path(os.devnull).open("w")  # noqa: SIM115  # the stack closes it
        stack.callback(nowhere.close)
        console = Console(file=nowhere, force_terminal=True, width=120)
        display = stack.enter_context(Display(self._study, console))
        display.began(self._point, [])
        return display.event

    def by_the_lab(self, number: int) -> dict[str, Any]:
        folder = self._folder / str(number)
        folder.mkdir()
        point = replace(self._point, key=f"{self._point.key}~{number}", seed=7 + number)
        with self.looked_at(folder) as seen:
            run.execute(self._study, point, folder, self._session)
        return {**row(folder / "load.json"), **seen}

    def alone(self, number: int) -> dict[str, Any]:
        """The job of the first point, with another seed."""
        job = json.loads((self._folder / "0" / "load.job.json").read_text())
        folder = self._folder / f"{number}-alone"
        folder.mkdir()
        asked = {**job, "seed": 7 + number, "hlog": str(folder / "load.hlog")}
        (folder / "load.job.json").write_text(json.dumps(asked))
        words = [programs.find("sojourn-load"), "--job", "-", "--json", folder / "load.json"]
        with (folder / "load.job.json").open() as text, self.looked_at(folder) as seen:
            subprocess.run(
                [*map(str, words), "--progress", "off"],
                stdin=text,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                preexec_fn=partial(first, self._client),
                check=False,
            )
        return {**row(folder / "load.json"), **seen}

    @contextmanager
    def looked_at(self, folder: Path) -> Iterator[dict[str, Any]]:
        """Who runs on the client's CPU from shortly after the load has begun."""
        seen: dict[str, Any] = {}
        if self._who_s <= 0:
            yield seen
            return
        out = folder / "who.json"
        words = ("--who", self._client, "--duration", f"{self._who_s}s", "--json", out)
        argv = [str(word) for word in (programs.find("sojourn-trace"), *words)]
        look = threading.Timer(
            LEAD_S, lambda: subprocess.run(argv, capture_output=True, check=False)
        )
        look.start()
        yield seen
        look.join()
        seen.update(who=parties(json.loads(out.read_text())))


def first(client: int) -> None:
    """A session of its own that goes before others, as the lab starts its generator."""
    os.setsid()
    os.sched_setaffinity(0, {client, *os.sched_getaffinity(0)})
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("-20", encoding="ascii")


def row(path: Path) -> dict[str, Any]:
    result = json.loads(path.read_text())
    outages, length_s = result["outages"], result["measured_s"]
    return {
        "stops_per_s": outages["count"] / length_s,
        "share": outages["total_ns"] / 1e9 / length_s,
        "longest_ms": outages["longest_ns"] / 1e6,
        "excluded": outages["share_excluded"],
        "p99_us": result["sojourn_ns"]["p99"] / 1e3,
        "verdict": result["verdict"],
    }


def parties(look: dict[str, Any]) -> dict[str, list[float]]:
    """By party its turns on the client's CPU a second, their share of the time, and long ones.

    Long ones are those above 0.3 ms, a second: each of them is a stop of the client.
    """
    length_s, tasks = look["duration_ns"] / 1e9, look["tasks"]
    client = max((t for t in tasks if t["name"] == "sojourn-load"), key=lambda t: t["run_ns"])
    values = {name: [0.0, 0.0, 0.0] for name in PARTIES}
    for task in tasks:
        if task is not client:
            turns = values[party(task, client)]
            turns[0] += task["runs"] / length_s
            turns[1] += task["run_ns"] / 1e9 / length_s
            turns[2] += task["long_runs"] / length_s
    return values


def party(task: dict[str, Any], client: dict[str, Any]) -> str:
    if task["pid"] == os.getpid():
        return "lab"
    if task["pid"] == client["pid"]:
        return "generator"
    return "sampler" if task["name"] == "sojourn-counter" else "others"


def summary(one: dict[str, Any]) -> str:
    turns = [f"{name} {n:.1f}/s {share:.3%}" for name, (n, share, _) in one.get("who", {}).items()]
    return (
        f"{one['round']:>3} {one['arm']:6} {one['stops_per_s']:6.2f} stops/s {one['share']:8.3%} "
        f"longest {one['longest_ms']:5.2f} ms  p99 {one['p99_us']:6.0f} µs  {', '.join(turns)}"
    )


def table(rows: list[dict[str, Any]]) -> str:
    """Medians and ranges of both, and the median of the differences within rounds."""
    lines = []
    for key, unit, digits in NUMBERS:
        arms = {arm: [r[key] * unit for r in rows if r["arm"] == arm] for arm in (ALONE, LAB)}
        for arm, values in arms.items():
            middle, low, high = statistics.median(values), min(values), max(values)
            span = f"{low:.{digits}f} to {high:.{digits}f}"
            lines.append(f"{key:12} {arm:6} {middle:9.{digits}f}  ({span})")
        pairs = zip(arms[ALONE], arms[LAB], strict=True)  # round by round
        added = statistics.median(by_lab - by_itself for by_itself, by_lab in pairs)
        lines.append(f"{key:12} added  {added:9.{digits}f}")
    for name in PARTIES:
        for arm in (ALONE, LAB):
            seen = [r["who"][name] for r in rows if r["arm"] == arm and "who" in r]
            if seen:
                turns, share, long = (statistics.median(one[n] for one in seen) for n in range(3))
                text = f"{turns:7.2f}/s  {share:.4%}  over 0.3 ms {long:.2f}/s"
                lines.append(f"ran: {name:9} beside {arm:6} {text}")
    return "\n".join(lines)


def keep(asked: argparse.Namespace, rows: list[dict[str, Any]]) -> Path:
    RUNS.mkdir(exist_ok=True)
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-lab_stops.json"
    path.write_text(json.dumps({"asked": vars(asked), "rows": rows}, indent=1) + "\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
