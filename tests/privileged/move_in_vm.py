"""What `--shield move` does to a kernel; runs inside a VM, never on a machine that others use.

Usage: python move_in_vm.py [imports]       imports: print the files that it needs, and end

Plants two tasks that may run anywhere, moves everything off CPU 1, looks where things are, puts all
back and compares with what was there before; then once more with a lab that is killed with SIGKILL
in between, and `restore`. Prints one line for each check: `ok` or `FAILED`, and what was seen.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2] / "python" / "sojourn"
PACKAGES = ("sojourn", "sojourn.host", "sojourn.install", "sojourn.run", "sojourn.services")


class Lab:
    """The modules under test, in packages without what their `__init__` imports, such as numpy."""

    def __init__(self) -> None:
        for package in PACKAGES:
            module = types.ModuleType(package)
            module.__path__ = [str(SOURCE.joinpath(*package.split(".")[1:]))]
            sys.modules[package] = module
        run = {m: importlib.import_module(f"sojourn.run.{m}") for m in ("journal", "moving")}
        self.journal, self.moving = run["journal"].Journal, run["moving"]
        self.restore = importlib.import_module("sojourn.run.restore").restore
        self.room = self.moving.CpuSets(server=(SERVER,), client=(CLIENT,), usable=(CLIENT, SERVER))
        self.tree = importlib.import_module("sojourn.host.tree").Tree()

    def begin(self, book: Any) -> Any:
        """Move everything off the server's CPU."""
        return self.moving.begin(self.room, book, self.tree)


SERVER, CLIENT = 1, 0
FORK = "while :; do sleep 20 & sleep 0.2; done"  # somebody is always about to be born
SPIN = "while :; do :; done"
LATER = (
    "until [ -e /root/go ]; do sleep 0.1; done; (while :; do :; done) & echo $! > /root/later; wait"
)
FILES = (
    "/proc/irq/*/smp_affinity_list",
    "/proc/irq/default_smp_affinity",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/devices/virtual/workqueue/*/cpumask",
)
STATE, LATER_PID, GO = (Path("/root", name) for name in ("state", "later", "go"))  # of the VM
MANY_MOVED = 5


def main(lab: Lab) -> None:
    planted = [orphan(text) for text in (SPIN, LATER, FORK)]
    time.sleep(1)
    before = state()
    book = lab.journal.create(STATE)
    moved = lab.begin(book)
    look(lab, moved, before)
    GO.touch()
    time.sleep(3)
    later = int(LATER_PID.read_text())
    report_check("inherited", os.sched_getaffinity(later) == {CLIENT}, str(later))
    report_check(
        "felt", {last_cpu(planted[0]), last_cpu(later)} == {CLIENT}, "planted tasks run on 0"
    )
    moved.put_back()
    book.close()
    compare("put back", before)
    report_check(
        "what was started meanwhile", os.sched_getaffinity(later) == {CLIENT, SERVER}, str(later)
    )
    killed_in_between(lab)
    undone = lab.restore(STATE)
    report_check(
        "restore",
        bool(undone) and all(u.is_done for u in undone),
        str([(u.what, u.how) for u in undone]),
    )
    compare("put back after a kill", before)
    report_check("nothing left to restore", not lab.restore(STATE), "")
    for pid in (later, *planted):
        os.kill(pid, signal.SIGKILL)


def orphan(text: str) -> int:
    """A shell that is no descendant of the lab, which leaves its own alone; its number."""
    started = ["/bin/sh", "-c", f"({text}) > /dev/null 2>&1 & echo $!"]
    return int(subprocess.run(started, stdout=subprocess.PIPE, check=True).stdout)


def look(lab: Lab, moved: Any, before: dict[str, str]) -> None:
    """Is everything where it was asked to be, or named as refused?"""
    meanwhile = state()
    report_check("moved", len(moved.settings) >= MANY_MOVED, str(moved.facts))
    stuck = {setting.what for setting, _ in moved.refused}
    read = lab.moving.settings.read
    whats = {s.what for s in moved.settings if read(s, lab.tree) not in {s.new, None}}
    report_check("as asked, or named as refused", whats <= stuck, f"{whats} of {stuck}")
    strays = list(lab.moving.survey(lab.room, lab.tree))
    report_check("nobody is left", {stray.what for stray in strays} <= stuck, str(strays))
    changed = [key for key, cpus in meanwhile.items() if before.get(key, cpus) != cpus]
    report_check("interrupts", any("/proc/irq" in key for key in changed), str(changed))


def killed_in_between(lab: Lab) -> None:
    """Another lab begins and is killed before it puts anything back."""
    pid = os.fork()
    if pid == 0:
        lab.begin(lab.journal.create(STATE))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    report_check("moved by the lab that was killed", os.sched_getaffinity(1) == {CLIENT}, "init")


def state() -> dict[str, str]:
    """CPUs of every thread (but this process's), interrupt and kind of kernel work."""
    results = {
        str(p): p.read_text().strip() for pattern in FILES for p in Path("/").glob(pattern[1:])
    }
    for task in Path("/proc").glob("[0-9]*/task/[0-9]*"):
        if int(task.parts[2]) != os.getpid():
            try:
                results[str(task)] = str(sorted(os.sched_getaffinity(int(task.name))))
            except ProcessLookupError:
                continue
    return results


def compare(what: str, before: dict[str, str]) -> None:
    """Everything that was there before and is still there has what it had."""
    now = state()
    other = {k: (v, now[k]) for k, v in before.items() if k in now and now[k] != v}
    report_check(what, not other, f"{len(before)} compared {other or ''}")


def last_cpu(pid: int) -> int:
    """The CPU that it ran on last (proc(5), field 39)."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[36])


def report_check(what: str, is_so: bool, seen: str) -> None:  # noqa: FBT001
    print(f"{'ok' if is_so else 'FAILED'}: {what}: {seen}", flush=True)  # noqa: T201


if __name__ == "__main__":
    its = Lab()
    if sys.argv[1:] == ["imports"]:
        files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        print("\n".join(sorted({str(Path(f)) for f in files if f})))  # noqa: T201
    else:
        main(its)
