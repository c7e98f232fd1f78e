"""Knobs on a kernel with control groups of version 2 alone and hyper-threads; runs inside a VM.

Usage: python knobs_in_vm.py [imports]       imports: print the files that it needs, and end

Turns each knob on a task that represents a service, looks whether it is in force, puts it back and
compares with what was there before; then turns all of them in a lab that is killed with SIGKILL,
and restores. Prints one line for each check: `ok` or `FAILED`, and what was seen.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import mmap
import os
import resource
import select
import signal
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2] / "python" / "sojourn"
PACKAGES = ("sojourn", "sojourn.host", "sojourn.install", "sojourn.run", "sojourn.services")
STATE = Path("/root/state")  # of the VM
GROUPS = Path("/sys/fs/cgroup")
PROBED = (
    ctypes,
    json,
    mmap,
    resource,
    select,
)  # what the knobs' probes import, to be brought along
#: Two threads that wake up now and then, so that it can be seen where they run.
SERVICE = """
import threading, time
def beat():
    while True: time.sleep(0.02)
threading.Thread(target=beat).start(); beat()
"""
THREADS = 2
START_S_MAX = 60.0
#: A translated CPU's ticks come late: in 5 s a burner used 0.53 to 0.55 CPUs of the 0.50 allowed,
#: and 1 without a quota.
QUOTA_S, QUOTA_SLACK = 5.0, 0.15
PROBE_S_MAX = 90  # CPUs are translated, and the machine may be busy
#: name → level; those of control groups first. A probe of each must feel it.
LEVELS = {
    "cpu_quota": "50%",
    "cpu_weight": "1000",
    "memory_limit": "96MiB",
    "numa": "0",
    "cpuset": "1",
    "policy": "fifo:1",
    "smt": "off",
}
READ_BACK = {"numa"}  # one node: nothing could be in force
WATCHED = ("sys/devices/system/cpu/smt/control", "sys/devices/system/cpu/online")


class Lab:
    """The modules under test, in packages without what their `__init__` imports, such as numpy."""

    def __init__(self) -> None:
        for package in PACKAGES:
            module = types.ModuleType(package)
            module.__path__ = [str(SOURCE.joinpath(*package.split(".")[1:]))]
            sys.modules[package] = module
        self.journal = importlib.import_module("sojourn.run.journal").Journal
        self.restore = importlib.import_module("sojourn.run.restore").restore
        self.knobs = importlib.import_module("sojourn.knobs")
        importlib.import_module("sojourn.knobs.probe").LIFE_S = PROBE_S_MAX
        quota = importlib.import_module("sojourn.knobs.cpu_quota")
        quota.WINDOW_S, quota.SLACK = QUOTA_S, QUOTA_SLACK

    def turned(self, book: Any, leader: int) -> Any:
        """What knobs are turned on: the task, as the lab would have it."""
        return self.knobs.Turned(label="task", leader=leader, book=book, work=Path("/tmp"))  # noqa: S108

    def lacks(self, name: str, level: str) -> Any:
        """What this kernel lacks for it; None: nothing."""
        return self.knobs.kind(name).lacks(self.knobs.Asked(level=level))


def main(lab: Lab) -> None:
    """All checks, one after another."""
    siblings = Path("/sys/devices/system/cpu/cpu0/topology/core_cpus_list").read_text().strip()
    report_check("hyper-threads", siblings != "0", f"CPU 0 has siblings {siblings}")
    task = subprocess.Popen([sys.executable, "-S", "-c", SERVICE], start_new_session=True)
    end = time.monotonic() + START_S_MAX
    while len(list(Path(f"/proc/{task.pid}/task").iterdir())) < THREADS and time.monotonic() < end:
        time.sleep(0.1)
    before = state(task.pid)
    for name, level in LEVELS.items():
        book = lab.journal.create(STATE)
        one(lab, book, task.pid, (name, level))
        book.close()
        compare(f"{name} put back", before, task.pid)
    killed(lab, task.pid)
    undone = lab.restore(STATE)
    report_check(
        "restore", bool(undone) and all(u.is_done for u in undone), str([u.how for u in undone])
    )
    compare("all put back after a kill", before, task.pid)
    report_check("nothing left to restore", not lab.restore(STATE), "")
    os.kill(task.pid, signal.SIGKILL)
    task.wait()


def one(lab: Lab, book: Any, leader: int, asked: tuple[str, str]) -> None:
    """Turn one knob, feel it, turn it back."""
    name, level = asked
    if lack := lab.lacks(name, level):
        report_check(name, lack is None, f"lacks {lack.missing}")
        return
    knob = lab.knobs.kind(name).build(lab.turned(book, leader))
    knob.apply(level)
    effect, says, by = knob.verify(), knob.read(), knob.by
    is_in_force = effect.holds is True or (name in READ_BACK and effect.holds is None)
    report_check(name, is_in_force, f"{says} by {by}: {effect.why}")
    knob.restore()


def killed(lab: Lab, leader: int) -> None:
    """A lab turns everything and is killed before it puts anything back."""
    pid = os.fork()
    if pid == 0:
        on = lab.turned(lab.journal.create(STATE), leader)
        for name, level in LEVELS.items():
            lab.knobs.kind(name).build(on).apply(level)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    left = [group.name for group in GROUPS.glob("sojourn-*")]
    report_check("a lab was killed with all knobs turned", bool(left), str(left))


def state(leader: int) -> dict[str, str]:
    """Groups and what they hand on, where the task is, its affinity and policy, some of sysfs."""
    results = {str(g): "" for g in GROUPS.rglob("*") if g.is_dir()}
    for control in GROUPS.rglob("cgroup.subtree_control"):
        results[str(control)] = " ".join(sorted(control.read_text().split()))
    results["group"] = Path(f"/proc/{leader}/cgroup").read_text()
    for task in Path(f"/proc/{leader}/task").iterdir():
        number = int(task.name)
        how = sorted(os.sched_getaffinity(number)), os.sched_getscheduler(number)
        results[f"task {number}"] = f"{how} {os.getpriority(os.PRIO_PROCESS, number)}"
    return results | {name: Path("/", name).read_text().strip() for name in WATCHED}


def compare(what: str, before: dict[str, str], leader: int) -> None:
    """Everything is as it was."""
    now = state(leader)
    other = {
        k: (before.get(k), now.get(k))
        for k in before.keys() | now.keys()
        if before.get(k) != now.get(k)
    }
    report_check(what, not other, f"{len(before)} compared {other or ''}")


def report_check(what: str, is_so: bool, seen: str) -> None:  # noqa: FBT001
    """A check, as the test outside reads it."""
    print(f"{'ok' if is_so else 'FAILED'}: {what}: {seen}", flush=True)  # noqa: T201


if __name__ == "__main__":
    its = Lab()
    if sys.argv[1:] == ["imports"]:
        files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        print("\n".join(sorted({str(Path(f)) for f in files if f})))  # noqa: T201
    else:
        main(its)
