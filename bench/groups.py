"""What the grouping of tasks does to the tail beside a spinning neighbour (METHOD M36).

Usage: sudo .venv/bin/python bench/groups.py [--rounds 3] [--seconds 5] [--rate 20000] [--only WORD]

memcached and a task that spins share one CPU; the generator spins on the other. The same load is
offered under each grouping, in random order within a round:

- by session (autogroup): all three apart, service with client, service with neighbour;
- by control group: apart, shared, service with client, neighbour nested below the service's group;
- by weight: the service's group has 1/16 to 16 times the neighbour's; the neighbour's is idle, or
  has a quota of half a CPU.

It prints the median p99 of each and the CPU that the neighbour had, and writes the rows.
Groups are made below the mount of the cpu controller and removed at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure import CLIENT_CPU, SERVER_CPU
from servers import await_port

from sojourn.places import ports

BIN = Path(os.environ.get("SOJOURN_BIN") or Path(sys.executable).parent)
RUNS = Path(__file__).parent / "runs"
MOUNT = Path("/sys/fs/cgroup/cpu")  # version 1
GONE_S = 5.0
SERVICE, NEIGHBOUR, CLIENT = "service", "neighbour", "client"


@dataclass(frozen=True, slots=True)
class Arm:
    """One grouping.

    Attributes:
        sessions: who has a session of its own; the others are in this program's.
        groups: control group of each by name, "" the root's; a "/" nests.
        files: (group, file, text) to write.
        is_alone: without the neighbour.
    """

    name: str
    sessions: tuple[str, ...] = (SERVICE, NEIGHBOUR, CLIENT)
    groups: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str, str], ...] = ()
    is_alone: bool = False


APART = ((SERVICE, "a"), (NEIGHBOUR, "b"))
WITH_CLIENT = (*APART, (CLIENT, "a"))
ARMS = (
    Arm("alone", is_alone=True),
    Arm("sessions apart"),
    Arm("session: service + client", sessions=(NEIGHBOUR,)),
    Arm("session: service + neighbour", sessions=(CLIENT,)),
    Arm("groups apart", groups=APART),
    Arm("groups apart, client in its own", groups=(*APART, (CLIENT, "c"))),
    Arm("group: service + neighbour", groups=((SERVICE, "a"), (NEIGHBOUR, "a"))),
    Arm("group: service + client", groups=WITH_CLIENT),
    Arm("group: service + client, × 2", groups=WITH_CLIENT, files=(("a", "cpu.shares", "2048"),)),
    Arm("group: service + client, × 8", groups=WITH_CLIENT, files=(("a", "cpu.shares", "8192"),)),
    Arm("nested: neighbour below service", groups=((SERVICE, "a"), (NEIGHBOUR, "a/b"))),
    Arm("service 1/16", groups=APART, files=(("a", "cpu.shares", "64"),)),
    Arm("service 1/4", groups=APART, files=(("a", "cpu.shares", "256"),)),
    Arm("service 1/2", groups=APART, files=(("a", "cpu.shares", "512"),)),
    Arm("service 3/4", groups=APART, files=(("a", "cpu.shares", "768"),)),
    Arm("service × 4", groups=APART, files=(("a", "cpu.shares", "4096"),)),
    Arm("service × 16", groups=APART, files=(("a", "cpu.shares", "16384"),)),
    Arm("neighbour idle", groups=APART, files=(("b", "cpu.idle", "1"),)),
    Arm("neighbour quota 50 %", groups=APART, files=(("b", "cpu.cfs_quota_us", "50000"),)),
)


def main() -> int:
    asked = arguments()
    if not (MOUNT / "cpu.shares").exists():
        print(f"needs the cpu controller of control groups, version 1, at {MOUNT}", file=sys.stderr)
        return 2
    arms = [arm for arm in ARMS if asked.only in arm.name]
    order, rows = random.Random(36), []  # noqa: S311
    for number in range(asked.rounds):
        for arm in order.sample(arms, len(arms)):
            rows.append({"round": number, "arm": arm.name, **measured(arm, asked, number)})
            print(line(rows[-1]), flush=True)
    print(table(arms, rows))
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-groups.json"
    kernel = os.uname().release
    path.write_text(json.dumps({"kernel": kernel, "rate": asked.rate, "rows": rows}, indent=1))
    print(f"kept in {path}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of each grouping (3)")
    parser.add_argument("--seconds", type=int, default=5, help="length of a run, s (5)")
    parser.add_argument("--rate", type=float, default=20_000.0, help="requests/s (20000)")
    parser.add_argument("--only", default="", help="groupings with this in their name")
    return parser.parse_args()


def measured(arm: Arm, asked: argparse.Namespace, seed: int) -> dict[str, Any]:
    """One run under a grouping: p50, p99, what the neighbour had, and the generator's verdict.

    A quantile is None where so many requests were never answered.
    """
    with contextlib.ExitStack() as stack:
        root = stack.enter_context(groups(arm))
        port, beside = ports.free(), None
        server = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-t", "1", "-U", "0"]
        server += ["-u", "nobody"]
        stack.enter_context(started(server, SERVICE, arm, root, SERVER_CPU))
        await_port(port)
        if not arm.is_alone:
            spin = [sys.executable, "-IS", "-c", "while True: pass"]
            beside = stack.enter_context(started(spin, NEIGHBOUR, arm, root, SERVER_CPU))
        out = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "load.json"
        began, used = time.monotonic(), cpu_s(beside)
        with started(load(asked, port, out, seed), CLIENT, arm, root, CLIENT_CPU) as client:
            client.wait(asked.seconds + 60)
        share = (cpu_s(beside) - used) / (time.monotonic() - began)
        result = json.loads(out.read_text())
    times = result["sojourn_ns"]
    return {
        **{f"{q}_us": None if times[q] is None else times[q] / 1e3 for q in ("p50", "p99")},
        "neighbour": share,
        "verdict": result["verdict"],
        "reasons": result["reasons"],
    }


def load(asked: argparse.Namespace, port: int, out: Path, seed: int) -> list[str]:
    """The generator's words."""
    words = ["--rate", f"{asked.rate:.0f}", "--duration", f"{asked.seconds}s", "--preload"]
    words += ["--connections", "16", "--items", "1000", "--seed", str(seed + 1)]
    words += ["--wait", "spin", "--cpus", str(CLIENT_CPU), "--json", str(out)]
    return [str(BIN / "sojourn-load"), f"memcache://127.0.0.1:{port}", *words]


@contextlib.contextmanager
def groups(arm: Arm) -> Iterator[Path]:
    """The arm's control groups, empty again and removed at the end."""
    root = MOUNT / f"sojourn-bench-{os.getpid()}"
    wanted = sorted({group for _, group in arm.groups})
    every = [root, *(root / group for group in wanted)] if wanted else []
    try:
        for folder in every:
            folder.mkdir(parents=True, exist_ok=True)
        for group, name, text in arm.files:
            (root / group / name).write_text(text)
        yield root
    finally:
        for folder in reversed(every):
            removed(folder)


def removed(folder: Path) -> None:
    """Remove a group; its last task may take a moment to be gone."""
    until = time.monotonic() + GONE_S
    while folder.exists():
        try:
            folder.rmdir()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


@contextlib.contextmanager
def started(
    words: list[str], who: str, arm: Arm, root: Path, cpu: int
) -> Iterator[subprocess.Popen[bytes]]:
    """A process on its CPU, in the session and control group of its arm; ended at the end."""
    group = dict(arm.groups).get(who, "")

    def placed() -> None:
        if who in arm.sessions:
            os.setsid()
        if group:
            (root / group / "cgroup.procs").write_text(str(os.getpid()))
        os.sched_setaffinity(0, {cpu})

    nothing = subprocess.DEVNULL
    with subprocess.Popen(
        words,
        stdout=nothing,
        stderr=nothing,
        preexec_fn=placed,  # noqa: PLW1509  # there are no threads here
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def cpu_s(process: subprocess.Popen[bytes] | None) -> float:
    """CPU time of a process so far, s."""
    if process is None:
        return 0.0
    spent_ns = Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]
    return int(spent_ns) / 1e9


def as_number(value: float | None) -> float:
    """A number for people: a time that never ended is infinite."""
    return math.inf if value is None else value


def line(row: dict[str, Any]) -> str:
    times = f"p50 {as_number(row['p50_us']):7.0f} µs  p99 {as_number(row['p99_us']):7.0f} µs"
    return f"{row['round']}  {row['arm']:34} {times}  neighbour {row['neighbour']:.2f} CPU"


def table(arms: list[Arm], rows: list[dict[str, Any]]) -> str:
    def of(arm: Arm, key: str, how: Callable[[list[float]], float]) -> float:
        return how([as_number(row[key]) for row in rows if row["arm"] == arm.name])

    head = "| grouping | p50, µs | p99, µs | min–max | neighbour, CPU |\n|---|---|---|---|---|"
    lines = [
        f"| {arm.name} | {of(arm, 'p50_us', statistics.median):.0f} "
        f"| {of(arm, 'p99_us', statistics.median):.0f} "
        f"| {of(arm, 'p99_us', min):.0f}–{of(arm, 'p99_us', max):.0f} "
        f"| {of(arm, 'neighbour', statistics.median):.2f} |"
        for arm in arms
    ]
    return "\n".join([head, *lines])


if __name__ == "__main__":
    sys.exit(main())
