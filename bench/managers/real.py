"""Two services and a batch job on real control groups: each rule as `sojourn manage`, in turn.

Usage: sudo .venv/bin/python bench/managers/real.py [--rounds 1] [--seconds 12] [--only NAME …]

Two memcached (one thread each) and a task that spins share CPU 0, each in a control group of its
own; both generators run on CPU 1. The load of either is a square wave of 2000 and 8000 requests/s,
three seconds each, the one high while the other is low. The target is p99 ≤ 1 ms of each. Order is
random within a round. `none` runs without a manager; `alone` without the spinning task.

Of each run: seconds in which either service had more late requests than 1 % by two standard
deviations (as in the simulation), the share of late requests, CPU time of the spinning task,
changes, and what the manager said at the end. All groups share one CPU, so a rule that parts whole
cores has none to move. Needs memcached. Rows are stored in `bench/runs`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from measure import CLIENT_CPU, SERVER_CPU
from servers import await_port

from sojourn import controllers, programs
from sojourn.manage import testing
from sojourn.manage.testing import make_group, remove_group, until
from sojourn.places import ports, proc

RUNS = Path(__file__).parents[1] / "runs"
NONE, ALONE = "none", "alone"
CONSTANTS = {"static": {"idle": 1.0}}
TRAITS = '["non-scalable"]'
SERVICES, BATCH = ("a", "b"), "batch"
LOW, HIGH, HALF_S, WARM_S, PEAK = 2000, 8000, 3, 2, 60_000
TARGET, LATE, SIGMAS = "1ms", 0.01, 2.0
QUIET = subprocess.DEVNULL


@dataclass
class Seen:
    """What the generators' windows say, by service and second of the run."""

    n: dict[tuple[str, int], int] = field(default_factory=dict)
    above: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, service: str, second: int, window: dict[str, Any]) -> None:
        key = (service, second)
        self.n[key] = self.n.get(key, 0) + window["n"]
        self.above[key] = self.above.get(key, 0) + window["above"]

    def violated_s(self) -> int:
        """Seconds in which either service is late."""
        late = {
            second
            for (service, second), n in self.n.items()
            if self.above[service, second] > LATE * n + SIGMAS * math.sqrt(n * LATE * (1 - LATE))
        }
        return len(late)

    def late(self) -> float:
        """Share of all requests."""
        return sum(self.above.values()) / max(1, sum(self.n.values()))


def main() -> int:
    asked = arguments()
    if lack := testing.lack():
        print(f"needs {lack}", file=sys.stderr)
        return 2
    order, rows = random.Random(30), []  # noqa: S311
    for number in range(asked.rounds):
        for name in order.sample(asked.only, len(asked.only)):
            rows.append({"round": number, "controller": name, **measured(name, asked.seconds)})
            print(json.dumps(rows[-1]), flush=True)
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-real.json"
    about = {"kernel": os.uname().release, "load": os.getloadavg()[0], "seconds": asked.seconds}
    path.write_text(json.dumps({**about, "rows": rows}, indent=1))
    print(f"rows: {path.name}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    names = [NONE, ALONE, *controllers.KINDS]
    parser.add_argument("--rounds", type=int, default=1, help="runs of each (1)")
    parser.add_argument("--seconds", type=int, default=12, help="length of a run, s (12)")
    parser.add_argument("--only", nargs="*", default=names, choices=names, help="rules (all)")
    return parser.parse_args()


def measured(name: str, seconds: int) -> dict[str, Any]:
    """One run of one rule."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tag = secrets.token_hex(3)
        paths = {one: f"/sojourn-league-{tag}-{one}" for one in (*SERVICES, BATCH)}
        folders = {one: make_group(path) for one, path in paths.items()}
        for group in (group for groups in folders.values() for group in groups):
            stack.callback(remove_group, group)
        listening = {}
        for one in SERVICES:
            listening[one] = ports.free()
            words = ["memcached", "-l", "127.0.0.1", "-p", str(listening[one]), "-t", "1"]
            started(stack, [*words, "-U", "0", "-u", "nobody"], SERVER_CPU, folders[one])
            await_port(listening[one])
        beside = None
        if name != ALONE:
            spin = [sys.executable, "-IS", "-c", "while True: pass"]
            beside = started(stack, spin, SERVER_CPU, folders[BATCH])
        lines, seen = (folder / "lines").open("ab", buffering=0), Seen()
        stack.callback(lines.close)
        manager = None
        if name not in {NONE, ALONE}:
            manager = managed(stack, name, folder, paths)
        clients = [client(stack, one, listening[one], seconds) for one in SERVICES]
        began = time.monotonic()
        relays = [
            threading.Thread(target=relay, args=(one, each, lines, seen, began + WARM_S))
            for one, each in zip(SERVICES, clients, strict=True)
        ]
        for one in relays:
            one.start()
        time.sleep(max(0.0, began + WARM_S - time.monotonic()))
        used, at = cpu_s(beside), time.monotonic()
        for each in clients:
            each.wait(seconds + 30)
        job = (cpu_s(beside) - used) / (time.monotonic() - at)
        for one in relays:
            one.join(10)
        events = audit(folder) if manager else []
        ended = manager.poll() if manager else None
    changes = [event for event in events if event["event"] == "change"]
    return {
        "violated_s": seen.violated_s(),
        "seconds": len({second for _, second in seen.n}),
        "late": seen.late(),
        "job_cpus": job,
        "changes": len(changes),
        "ended": ended,
        "said": [e for e in events if e["event"] in {"capped", "refused"}][:3],
    }


def started(
    stack: contextlib.ExitStack, words: Sequence[str], cpu: int, groups: Sequence[Path]
) -> subprocess.Popen[bytes]:
    """A program on one CPU, in a control group from its start; it is killed at the end."""
    enter = " && ".join(f"echo $$ > '{group}/cgroup.procs'" for group in groups)
    text = f'{enter} && exec taskset -c {cpu} "$@"'
    process = subprocess.Popen(
        ["sh", "-c", text, "sh", *words], stdin=QUIET, stdout=QUIET, stderr=QUIET
    )
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def client(
    stack: contextlib.ExitStack, service: str, port: int, seconds: int
) -> subprocess.Popen[bytes]:
    """The generator of one service: high first for `a`, low first for `b`."""
    pair = (HIGH, LOW) if service == SERVICES[0] else (LOW, HIGH)
    halves = seconds // HALF_S
    steps = ",".join(f"{pair[k % 2]}@{HALF_S}s" for k in range(halves))
    words = [f"memcache://127.0.0.1:{port}", "--preload", "--rate", f"steps:{steps}"]
    return generator(stack, words, halves * HALF_S, TARGET)


def generator(
    stack: contextlib.ExitStack, asked: Sequence[str], seconds: int, target: str
) -> subprocess.Popen[bytes]:
    """`sojourn-load` on the clients' CPU, with a window on stderr every 100 ms."""
    words = ["taskset", "-c", str(CLIENT_CPU), str(programs.find("sojourn-load")), *asked]
    words += ["--duration", f"{seconds}s", "--warmup", f"{WARM_S}s"]
    words += ["--qos-quantile", "0.99", "--qos-bound", target]
    words += ["--progress", "json", "--progress-every", "100ms"]
    process = subprocess.Popen(words, stdin=QUIET, stdout=QUIET, stderr=subprocess.PIPE)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def relay(
    service: str, process: subprocess.Popen[bytes], lines: IO[bytes], seen: Seen, from_s: float
) -> None:
    """Lines of a generator, with the name of its service, for the manager; and into `seen`."""
    assert process.stderr is not None  # noqa: S101  # it was asked for
    for text in process.stderr:
        try:
            table = json.loads(text)
        except ValueError:
            continue
        if not isinstance(table, dict) or not table.get("window"):
            continue
        lines.write(json.dumps({"service": service, **table}).encode() + b"\n")
        second = int(time.monotonic() - from_s)
        if second >= 0:
            seen.add(service, second, table["window"])


def managed(
    stack: contextlib.ExitStack, name: str, folder: Path, paths: dict[str, str]
) -> subprocess.Popen[bytes]:
    """A manager that has begun; it runs on the clients' CPU, and manages the services'."""
    text = [
        f'controller = "{name}"',
        f'audit = "{folder}/audit"',
        "check_s = 0.0",
        "silent_s = 5.0",
    ]
    text += ["[windows]", f'file = "{folder}/lines"']
    text += ["[constants]", *(f"{k} = {v}" for k, v in CONSTANTS.get(name, {}).items())]
    for one, path in paths.items():
        is_batch = one == BATCH
        text += [f"[groups.{one}]", f'role = "{"best-effort" if is_batch else "latency-critical"}"']
        text += [f'cgroup = "{path}"']
        text += [f"traits = {TRAITS}"] if is_batch else [f'target = "{TARGET}"']
        text += [] if is_batch else [f"peak_rps = {PEAK}"]
    process = manager(stack, folder, "\n".join(text), ["taskset", "-c", str(SERVER_CPU)])
    with contextlib.suppress(OSError):  # the CPUs that it manages were taken at its start
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), {CLIENT_CPU})
    return process


def manager(
    stack: contextlib.ExitStack, folder: Path, config: str, before: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """A manager by this configuration that has begun, after the words `before`."""
    (folder / "manage.toml").write_text(config)
    words = [
        *before,
        sys.executable,
        "-m",
        "sojourn",
        "manage",
        "--config",
        str(folder / "manage.toml"),
    ]
    env = {**os.environ, "SOJOURN_STATE": f"{folder}/state"}
    process = subprocess.Popen(words, stdin=QUIET, stdout=QUIET, stderr=None, env=env)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    until(lambda: process.poll() is not None or audit(folder), 10.0)
    return process


def audit(folder: Path) -> list[dict[str, Any]]:
    path = folder / "audit"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def cpu_s(process: subprocess.Popen[bytes] | None) -> float:
    one = proc.stat(process.pid) if process else None
    return one.cpu_ns / 1e9 if one else 0.0


if __name__ == "__main__":
    sys.exit(main())
