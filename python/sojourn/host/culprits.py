"""Who runs on given CPUs, and for how long at a time: what a server there has to wait for.

From the scheduler's tracepoints (`sojourn-trace --who`) where rights allow: every run of every
task. Else from /proc, and the result says so: what each thread ran and how often it was put on a
CPU, looked at before and after. How long it ran at a time is then not known, only how many long
runs that can have been at most; tasks that ended in between are missed, and all of a task's time
counts for the CPU it was last on.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn import programs
from sojourn.host.tree import Tree, cpu_text
from sojourn.text import schedstat
from sojourn.visible import in_line

PROGRAM = "sojourn-trace"
LONG_NS = 300_000  # a run that a server's p99 shows; `LONG_NS` in crates/trace/src/who.rs
SCHEDULER = "scheduler"
PROC = "proc"
SPARE_S_MAX = 20.0  # to load and to read, on a machine that is busy
KERNEL_THREAD = 0x0020_0000  # PF_KTHREAD, in field 9 of /proc/PID/stat
FLAGS, CPU = 6, 36  # fields 9 and 39, counted from the one after the name


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """A task that ran on the CPUs looked at.

    Attributes:
        name: of the thread, as the kernel cuts it (15 letters).
        tid: thread id; pid: process id; 0: it has none in the container that was looked from.
        runs: times it was put on one of the CPUs.
        run_ns: CPU time there.
        share: of the CPUs' time, 0 to 1.
        long_runs_per_s: runs over `LONG_NS` per second; if `is_exact` is not, at most so many.
        longest_ns: its longest run; None if only /proc was looked at.
        is_exact: whether every run was seen (the scheduler's tracepoints).
    """

    name: str
    tid: int
    pid: int
    is_kernel: bool
    runs: int
    run_ns: int
    share: float
    long_runs_per_s: float
    longest_ns: int | None
    is_exact: bool

    @property
    def text(self) -> str:
        """Its name, how often it ran longer than 0.3 ms, and its share of the time, for people."""
        most = "" if self.is_exact else "at most "
        longest = "" if self.longest_ns is None else f", longest {self.longest_ns / 1e6:.3g} ms"
        name, where = in_line(self.name), self.tid or "outside this container"
        return (
            f"{name} ({where}): {most}{self.long_runs_per_s:.3g} runs over 0.3 ms per "
            f"second{longest}, {self.share:.2%} of the time"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What was seen.

    Attributes:
        source: `SCHEDULER` (every run), or `PROC` (the fallback).
        why: why it is the fallback; "" if it is not.
        seconds: how long was looked.
        culprits: the one with the most time in long runs first.
    """

    source: str
    why: str
    cpus: tuple[int, ...]
    seconds: float
    culprits: tuple[Culprit, ...]

    @property
    def long_runs_per_s(self) -> float:
        """Runs longer than 0.3 ms of all tasks together, per second."""
        return sum(culprit.long_runs_per_s for culprit in self.culprits)

    @property
    def text(self) -> str:
        """One line: the worst first."""
        where = f"on CPU {cpu_text(self.cpus)}"
        long = [culprit for culprit in self.culprits if culprit.long_runs_per_s > 0]
        if not long:
            return f"no task ran over 0.3 ms at a time {where} in {self.seconds:.2g} s"
        return f"{where} in {self.seconds:.2g} s: " + "; ".join(c.text for c in long[:3])


def read(
    cpus: Sequence[int], seconds: float, exclude_pids: Sequence[int] = ()
) -> tuple[Culprit, ...]:
    """Name who runs on `cpus`, worst first; see `look`."""
    return look(cpus, seconds, exclude_pids).culprits


def look(cpus: Sequence[int], seconds: float, exclude_pids: Sequence[int] = ()) -> Sight:
    """Watch `cpus` for some seconds. Nothing is changed; without rights it falls back to /proc.

    Args:
        cpus: logical CPUs; at least one.
        seconds: how long; a rare culprit needs some.
        exclude_pids: processes left out with all their threads: the service, its client.
            This process is always left out.
    """
    out = tuple(sorted({os.getpid(), *exclude_pids}))
    where = tuple(sorted(set(cpus)))
    program = programs.maybe(PROGRAM)
    if program is None:
        return _from_proc(where, seconds, out, f"{PROGRAM} is not installed")
    argv = [str(program), "--who", cpu_text(where), "--duration", f"{seconds * 1000:.0f}ms"]
    argv += [word for pid in out for word in ("--leave-out", str(pid))]
    try:
        done = subprocess.run(
            [*argv, "--json", "-"],
            capture_output=True,
            text=True,
            timeout=seconds + SPARE_S_MAX,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        table = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return _from_proc(where, seconds, out, f"{PROGRAM} failed: {error}")
    if table is None:
        lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        return _from_proc(where, seconds, out, lines[0].removeprefix("error: "))
    seen_s = table["duration_ns"] / 1e9
    return Sight(
        source=SCHEDULER,
        why="",
        cpus=where,
        seconds=seen_s,
        culprits=tuple(
            Culprit(
                name=task["name"],
                tid=task["tid"],
                pid=task["pid"],
                is_kernel=task["is_kernel"],
                runs=task["runs"],
                run_ns=task["run_ns"],
                share=task["share"],
                long_runs_per_s=task["long_runs_per_s"],
                longest_ns=task["longest_ns"],
                is_exact=True,
            )
            for task in table["tasks"]
        ),
    )


@dataclass(frozen=True, slots=True)
class _Task:
    """A thread at one moment."""

    pid: int
    name: str
    is_kernel: bool
    cpu: int
    run_ns: int
    runs: int


def _from_proc(cpus: tuple[int, ...], seconds: float, out: tuple[int, ...], why: str) -> Sight:
    tree = Tree()
    started = time.monotonic()
    before = tasks(tree)
    time.sleep(seconds)
    after = tasks(tree)
    passed_s = time.monotonic() - started
    culprits = between(before, after, cpus, passed_s, out)
    return Sight(source=PROC, why=why, cpus=cpus, seconds=passed_s, culprits=culprits)


def tasks(tree: Tree) -> dict[int, _Task]:
    """All threads by id. One that ends meanwhile is left out."""
    results = {}
    for pid in filter(str.isdigit, tree.names("/proc")):
        for tid in tree.names(f"/proc/{pid}/task"):
            stat = tree.text(f"/proc/{pid}/task/{tid}/stat")
            times = schedstat.parse(tree.text(schedstat.path(pid, tid)))
            if stat and times:
                head, _, tail = stat.rpartition(")")
                fields = tail.split()
                results[int(tid)] = _Task(
                    pid=int(pid),
                    name=head.partition("(")[2],
                    is_kernel=bool(int(fields[FLAGS]) & KERNEL_THREAD),
                    cpu=int(fields[CPU]),
                    run_ns=times.ran_ns,
                    runs=times.turns,
                )
    return results


def between(
    before: dict[int, _Task],
    after: dict[int, _Task],
    cpus: tuple[int, ...],
    seconds: float,
    out: tuple[int, ...] = (),
) -> tuple[Culprit, ...]:
    """Who ran on `cpus` between two looks, by the CPU that each was last on; the busiest first."""
    results = []
    for tid, task in after.items():
        was = before.get(tid)
        ran_ns = task.run_ns - (was.run_ns if was else 0)
        if task.cpu not in cpus or task.pid in out or ran_ns <= 0:
            continue
        runs = max(1, task.runs - (was.runs if was else 0))
        results.append(
            Culprit(
                name=task.name,
                tid=tid,
                pid=task.pid,
                is_kernel=task.is_kernel,
                runs=runs,
                run_ns=ran_ns,
                share=ran_ns / 1e9 / seconds / len(cpus),
                long_runs_per_s=min(runs, ran_ns // LONG_NS) / seconds,
                longest_ns=None,
                is_exact=False,
            )
        )
    return tuple(sorted(results, key=lambda culprit: -culprit.run_ns))
