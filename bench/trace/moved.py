"""Does `sojourn-trace diff` name what moved, and nothing where nothing did?

One Python server with a thread for each connection is traced, pinned to CPU 0; then the same with a
delay in one place: it reads or writes byte by byte, opens files by long paths, computes, waits for
a lock, runs beside `xz` on its CPU, or writes to the disk and waits for it. A round traces each of
them once, in random order, and the server without a delay twice. Each is compared with the first
trace without one. Right is what names the stage of the delay first, as the largest change of the
tail; of the two without a delay: what names nothing.

Every row is appended to a file of its own as it is made: a round that was stopped (the machine's
clock went on for much longer than the trace) is there too, and does not count. Needs root and two
CPUs. With --simulated, truth is drawn instead (`crates/trace/examples/moved.rs`).

    sudo .venv/bin/python bench/trace/moved.py [--rounds 20] [--seconds 2.5]
    .venv/bin/python bench/trace/moved.py --simulated 500 --example target/release/examples/moved
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from waiting.servers import Server, threaded

HERE = Path(__file__).parent
beside = runpy.run_path(str(HERE / "planted.py"))["beside"]
SERVER_CPU, CLIENT_CPU = "0", "1"
LATE_S = 4.0  # a trace that took so much longer than asked was stopped
NEIGHBOUR = f"taskset -c {SERVER_CPU} xz -9 -T1 -c /dev/urandom"
READS = """
class Slow:
    def recv(self, n): return raw.recv(1)
    def sendall(self, data): raw.sendall(data)
raw, stream = stream, Slow()
"""
WRITES = """
class Slow:
    def recv(self, n): return raw.recv(n)
    def sendall(self, data): [raw.sendall(data[at:at + 1]) for at in range(len(data))]
raw, stream = stream, Slow()
"""
OPENS = """
for _ in range(25):
    os.close(os.open("/" + "./" * 2000 + "etc/hostname", os.O_RDONLY))
"""
COMPUTES = """
until = time.perf_counter() + 0.001
while time.perf_counter() < until: pass
"""
LOCKED = """
taken.clear(); asked.set(); taken.wait()
with lock: pass
"""
HOLDER = """
taken, asked = threading.Event(), threading.Event()
def hold():
    while True:
        asked.wait(); asked.clear()
        with lock:
            taken.set()
            time.sleep(0.001)
threading.Thread(target=hold, daemon=True).start()
"""
DISK = "os.pwrite(file, bytes(256 << 10), 0); os.fsync(file)"
FILE = "file = os.open(FOLDER + '/log', os.O_RDWR | os.O_CREAT)"


@dataclass(frozen=True, slots=True)
class Plant:
    """What is planted, and the stages any of which is right."""

    start: Any
    stages: tuple[str, ...] = ()
    has_neighbour: bool = False


PLANTS = {
    "nothing": Plant(threaded("pass")),
    "nothing again": Plant(threaded("pass")),
    "read": Plant(threaded("pass", per=READS), ("read", "body")),
    "open": Plant(threaded(OPENS), ("open",)),
    "write": Plant(threaded("pass", per=WRITES), ("write", "drain")),
    "user code": Plant(threaded(COMPUTES), ("application",)),
    "lock": Plant(threaded(LOCKED, HOLDER), ("wait_lock",)),
    "neighbour": Plant(threaded("pass"), ("runq_delay",), has_neighbour=True),
    "slow disk": Plant(threaded(DISK, per=FILE), ("wait_disk",)),
}


def neighbour(plant: Plant) -> AbstractContextManager[None]:
    """`xz` on the server's CPU, in a control group with eight times the weight."""
    return beside(NEIGHBOUR.split(), "batch") if plant.has_neighbour else nullcontext()


def pinned(server: Server) -> None:
    """Keeps all threads of the server on its CPU; those it starts later inherit that."""
    for task in Path(f"/proc/{server.pid}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # a thread that has just ended
            os.sched_setaffinity(int(task.name), {int(SERVER_CPU)})


@contextlib.contextmanager
def asked_of(server: Server, args: argparse.Namespace) -> Iterator[None]:
    """Load while the block runs: one request at a time."""
    load = [str(args.bin / "sojourn-load"), *server.asked, "--rate", str(args.rate)]
    load += ["--connections", "1", "--cpus", CLIENT_CPU, "--wait", "sleep", "--warmup", "200ms"]
    load += ["--duration", f"{args.seconds + 20}s", "--json", "/dev/null"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    client = subprocess.Popen(load, **quiet)
    try:
        time.sleep(0.6)
        yield
    finally:
        client.kill()
        client.wait()


def traced(plant: Plant, at: Path, args: argparse.Namespace) -> float:
    """One trace into a file; how much longer it took than it was to, s."""
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="moved-", dir=args.disk) as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = plant.start(stack, folder)
        pinned(server)
        words = [str(args.bin / "sojourn-trace"), "--pid", str(server.pid), "--all"]
        words += ["--duration", f"{args.seconds}s", f"--blame={args.tail}", "--json", str(at)]
        with neighbour(plant), asked_of(server, args):
            begun = time.monotonic()
            done = subprocess.run(
                ["taskset", "-c", CLIENT_CPU, *words],
                capture_output=True,
                text=True,
                check=False,
                timeout=args.seconds + 120,
            )
            late_s = time.monotonic() - begun - args.seconds
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr[-600:])
    return late_s


def compared(first: Path, second: Path, args: argparse.Namespace) -> dict[str, Any]:
    words = [str(args.bin / "sojourn-trace"), "diff", str(first), str(second), "--json", "-"]
    words += ["--tail", args.tail]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def row_of(what: str, result: dict[str, Any], late_s: float) -> dict[str, Any]:
    """What was named, and whether that is right."""
    moved = [part for part in result["tail"]["parts"] if part["has_moved"]]
    in_mean = [part["name"] for part in result["mean"]["parts"] if part["has_moved"]]
    culprits = result["culprits"]["parts"] if result["culprits"] else []
    named = [part["name"] for part in moved]
    wanted = PLANTS[what].stages
    is_right = bool(named) and named[0] in wanted if wanted else not (named or in_mean)
    return {
        "planted": what,
        "tail": named,
        "mean": in_mean,
        "causes": [part["name"] for part in culprits if part["has_moved"]],
        "is_right": is_right and result["verdict"] == "holds",
        "verdict": result["verdict"],
        "reasons": result["reasons"],
        "was_stopped": late_s > LATE_S,
        "tail_ns": [result["tail"]["total"][side] for side in ("first_ns", "second_ns")],
        "answer": result["answer"],
    }


def round_of(number: int, args: argparse.Namespace, lot: random.Random) -> list[dict[str, Any]]:
    order = [name for name in PLANTS if not args.only or name in (*args.only, "nothing")]
    lot.shuffle(order)
    with tempfile.TemporaryDirectory(prefix="moved-") as name:
        folder = args.keep / f"{number:03d}" if args.keep else Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        at = {what: folder / f"{what.replace(' ', '-')}.json" for what in order}
        if not args.again:
            took = {what: traced(PLANTS[what], at[what], args) for what in order}
            (folder / "late.json").write_text(json.dumps(took))
        late = json.loads((folder / "late.json").read_text())
        rows = []
        for what in order:
            if what != "nothing":
                result = compared(at["nothing"], at[what], args)
                row = row_of(what, result, max(late["nothing"], late[what]))
                rows.append({"round": number, **row})
    return rows


def summary(rows: list[dict[str, Any]]) -> None:
    print(
        f"{'planted':16}{'right':>12}{'unknown':>9}{'stopped':>9}  what was named first otherwise"
    )
    for what in PLANTS:
        all_of = [row for row in rows if row["planted"] == what]
        own = [row for row in all_of if not row["was_stopped"]]
        if not own:
            continue
        right = sum(row["is_right"] for row in own)
        unknown = sum(row["verdict"] != "holds" for row in own)
        wrong = [
            (row["tail"] or row["mean"] or ["nothing"])[0] for row in own if not row["is_right"]
        ]
        stopped = len(all_of) - len(own)
        print(
            f"{what:16}{f'{right} of {len(own)}':>12}{unknown:>9}{stopped:>9}  {', '.join(wrong)}"
        )


def simulated(args: argparse.Namespace) -> int:
    """Truth is drawn: how often intervals hold, and what is named."""
    words = [str(args.example), str(args.simulated), str(args.seed)]
    text = subprocess.run(words, check=True, capture_output=True, text=True, timeout=3600).stdout
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(text)
    print(f"{'machine':14}{'planted':>9}{'mean held':>11}{'tail held':>11}{'false':>7}{'first':>7}")
    for line in text.splitlines():
        row = json.loads(line)
        print(
            f"{row['machine']:14}{row['planted']!s:>9}{row['mean_held']:>10.1%}"
            f"{row['tail_held']:>11.1%}{row['false_alarms']:>7}{row['planted_first']:>7}"
        )
    return 0


def main() -> int:
    """Plants, traces, compares and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--rate", type=int, default=500)
    parser.add_argument("--tail", default="p95")
    parser.add_argument("--only", action="append", choices=PLANTS)
    parser.add_argument("--disk", type=Path, default=Path.cwd(), help="a folder on a real disk")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the traces stay")
    parser.add_argument("--again", action="store_true", help="compare those that were kept")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--simulated", type=int, metavar="PAIRS")
    parser.add_argument("--example", type=Path, help="the built example, for --simulated")
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    parser.add_argument("--out", type=Path, default=HERE / "runs" / f"moved-{stamp}.jsonl")
    args = parser.parse_args()
    if args.simulated:
        return simulated(args)
    os.environ["PATH"] = f"{args.bin}:{os.environ['PATH']}"
    args.out.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for number in range(args.first, args.first + args.rounds):
        made = round_of(number, args, random.Random(f"{args.seed}/{number}"))  # noqa: S311 - no secret
        with args.out.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in made)
        rows += made
        wrong = [row["planted"] for row in made if not row["is_right"]]
        print(f"round {number}: {len(made) - len(wrong)} of {len(made)} {wrong or ''}", flush=True)
    summary(rows)
    print(f"rows: {args.out}")
    return 0 if all(row["is_right"] or row["was_stopped"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
