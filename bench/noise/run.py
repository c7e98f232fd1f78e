"""Is the intensity that was asked for the one that is there? Asked against measured by others.

For each antagonist and intensity, in rounds whose order is drawn anew, the program runs for some
seconds, and what it says of itself is held against what the kernel counted meanwhile:

    CPU time             /proc/PID/stat, for those that want a CPU
    disk                 /proc/PID/io: bytes read and written past the page cache
    network              /proc/net/dev: bytes sent on loopback (others' are in it, too)
    wake-ups             /proc/PID/task/*/status: voluntary switches
    square wave          CPU time by /proc/PID/task/*/schedstat, as a share of the time

Raw rows are kept under `bench/noise/runs/`. On a machine that is busy with other work a task does
not get the CPU it asks for; `waited` says for which share of the time it was kept from one, and
such rows say nothing of the program.

    python bench/noise/run.py --rounds 3 --seconds 4
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

from sojourn import programs
from sojourn.text import schedstat

RUNS = Path(__file__).parent / "runs"
TICKS_PER_S = 100
CPU_BOUND = ("cpu", "l1d", "l1i", "l2", "llc", "membw", "tlb", "network", "syscalls")
KINDS = (*CPU_BOUND, "wave", "disk", "wakeups", "locks", "memcap")
SHARES = (10, 25, 50)


def counters(pid: int) -> dict[str, float]:
    """What the kernel has counted of a process so far; the reporter's thread is part of it."""
    cpu_ns = wait_ns = switches = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        if one := schedstat.parse((task / "schedstat").read_text()):
            cpu_ns, wait_ns = cpu_ns + one.ran_ns, wait_ns + one.waited_ns
        status = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines())
        switches += int(status["voluntary_ctxt_switches"])
    io = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    loopback = next(
        line.split(":")[1].split()
        for line in Path("/proc/net/dev").read_text().splitlines()
        if line.strip().startswith("lo:")
    )
    return {
        "at_s": time.monotonic(),
        "cpu_s": cpu_ns / 1e9,
        "wait_s": wait_ns / 1e9,
        "switches": switches,
        "disk_bytes": int(io["read_bytes"]) + int(io["write_bytes"]),
        "lo_bytes": int(loopback[8]),
    }


def measured(kind: str, reports: dict[str, Any], part: dict[str, float]) -> float | None:
    """What the kernel counted, in the unit of the share that was asked; None: it counts none.

    For those that want a CPU: share of one CPU, as the most is per second of CPU time.
    """
    length_s = part["at_s"]
    if kind in CPU_BOUND:
        return part["cpu_s"] / length_s
    per_s = {"disk": part["disk_bytes"], "wakeups": part["switches"]}.get(kind)
    if kind == "wave":
        return part["cpu_s"] / length_s / 0.125
    return None if per_s is None else per_s / length_s / reports["alone_per_s"]


def one(kind: str, percent: int, seconds: float) -> dict[str, Any]:
    """One run, with the kernel's counters over its middle."""
    argv = [str(programs.find("sojourn-noise")), kind, f"--intensity={percent}%"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as task:
        try:
            assert task.stdout is not None  # noqa: S101 - it is a pipe
            first = json.loads(task.stdout.readline())
            before = counters(task.pid)
            time.sleep(seconds)
            after = counters(task.pid)
        finally:
            task.terminate()
        lines = [json.loads(line) for line in task.communicate(timeout=30)[0].splitlines()]
    part = {name: after[name] - before[name] for name in before}
    last = lines[-1]
    return {
        "kind": kind,
        "asked": percent / 100,
        "said": last["achieved_per_s"] / first["alone_per_s"],
        "measured": measured(kind, first, part),
        "lo_bytes_per_s": part["lo_bytes"] / part["at_s"],
        "waited": part["wait_s"] / part["at_s"],
        "is_held": last["is_held"],
        "unit": first["unit"],
        "alone_per_s": first["alone_per_s"],
        "rounds": first["calibration"]["rounds"],
    }


def main() -> None:
    """Measure, keep every row, print the table of medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = []
    folder = RUNS / time.strftime("%Y-%m-%d-%H%M%S")
    folder.mkdir(parents=True)
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as out:
        for nth in range(asked.rounds):
            turns = [(kind, share) for kind in asked.kinds for share in SHARES]
            random.Random(nth).shuffle(turns)  # noqa: S311 - not a secret
            for kind, share in turns:
                row = {"round": nth, **one(kind, share, asked.seconds)}
                rows.append(row)
                out.write(json.dumps(row) + "\n")
                out.flush()
    lines = ["kind        asked   said    measured  waited  held"]
    for kind in asked.kinds:
        for share in SHARES:
            own = [row for row in rows if (row["kind"], row["asked"]) == (kind, share / 100)]
            counted = [row["measured"] for row in own if row["measured"] is not None]
            there = f"{statistics.median(counted):.3f}" if counted else "-"
            lines.append(
                f"{kind:<12}{share / 100:<8.2f}{statistics.median(r['said'] for r in own):<8.3f}"
                f"{there:<10}{statistics.median(r['waited'] for r in own):<8.3f}"
                f"{sum(r['is_held'] is True for r in own)}/{len(own)}"
            )
    text = "\n".join(lines)
    (folder / "table.txt").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
