"""The knob `policy` with a scheduler of sched_ext; runs inside a VM that has one.

Usage: python sched_in_vm.py [imports]       imports: print the files that it needs, and end

Puts borrowed virtual time in force for a task that represents a service, looks whether the kernel
says so, and takes it back; then its program is killed, then the lab. Prints one line for each
check: `ok` or `FAILED`, and what was seen.
"""

from __future__ import annotations

import importlib
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

OTHER = Path(__file__).with_name("knobs_in_vm.py")
its = SimpleNamespace(**runpy.run_path(str(OTHER)))
LEVEL = "bvt,warp=5ms,weight=4"
SERVICE = "import time; time.sleep(1000)"
GONE_S_MAX = 60.0
#: What the warden and its like import, to be brought along.
MORE = ("sojourn.places.warden", "sojourn.knobs.scheduler")


def main(lab: Any) -> None:
    """All checks, one after another."""
    task = subprocess.Popen([sys.executable, "-S", "-c", SERVICE], start_new_session=True)
    book = lab.journal.create(its.STATE)
    knob = lab.knobs.kind("policy").build(lab.turned(book, task.pid))
    knob.apply(LEVEL)
    its.report_check(
        "policy", knob.verify().holds is True, f"{knob.read()} by {knob.by}: {knob.verify().why}"
    )
    knob.restore()
    its.report_check("policy put back", gone(), state())
    knob.apply("bvt")
    os.kill(importlib.import_module("sojourn.knobs.scheduler")._REIGN.process.pid, signal.SIGKILL)
    effect = gone() and knob.verify()
    its.report_check(
        "a scheduler that was killed", effect and effect.holds is False, effect and effect.why
    )
    knob.restore()
    book.close()
    pid = os.fork()
    if pid == 0:
        lab.knobs.kind("policy").build(lab.turned(lab.journal.create(its.STATE), task.pid)).apply(
            LEVEL
        )
        its.report_check("in force for a lab", "sojourn_bvt" in state(), state())
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    its.report_check("a lab that was killed", gone(), state())
    lab.restore(its.STATE)
    its.report_check("nothing left to restore", not lab.restore(its.STATE), "")
    os.kill(task.pid, signal.SIGKILL)
    task.wait()


def state() -> str:
    """What sched_ext says of itself."""
    folder = Path("/sys/kernel/sched_ext")
    name = folder / "root/ops"
    return f"{(folder / 'state').read_text().strip()} {name.read_text() if name.exists() else ''}"


def gone() -> bool:
    """Whether the kernel's own scheduler is in force again, within a while."""
    end = time.monotonic() + GONE_S_MAX
    while not state().startswith("disabled") and time.monotonic() < end:
        time.sleep(0.1)
    return state().startswith("disabled")


if __name__ == "__main__":
    the_lab = its.Lab()
    modules = [importlib.import_module(name) for name in MORE]
    if sys.argv[1:] == ["imports"]:
        files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        print("\n".join(sorted({str(OTHER), *(str(Path(f)) for f in files if f)})))  # noqa: T201
    else:
        main(the_lab)
