"""A small study again and again, in each of which another call of one kind fails (`faults.c`).

    faults.py FOLDER ASKED   a line of JSON for each n; ASKED: `faulty.Asked` as JSON

The machine is simulated, the files are real. The program is preloaded with `faults.c`. It forks for
each n, so nothing is imported twice, and the child calls the command line as a person does: first
with the fault, then without, which resumes.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from descent import adopt, ended
from faulty import Asked, Shared, of_simulated

from sojourn import disk, host, store, testing
from sojourn import run as runs
from sojourn.cli.app import main
from sojourn.plan import Point
from sojourn.report import page
from sojourn.run import journal
from sojourn.spec import Study

FACTS: list[host.Facts] = []


def child(act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `act` gives, in a process of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        with os.fdopen(write, "w") as out:
            json.dump(act(), out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(text) if text else {"code": -os.waitstatus_to_exitcode(status), "err": ""}


def measured(lab: testing.Lab, study: Study, point: Point, folder: Path, *more: Any) -> None:
    """Measure a point; a disk that fails is the fault that the real lab makes of it."""
    try:
        lab.execute(study, point, folder, *more)
    except OSError as error:
        raise disk.disk_fault(error, folder) from None


def run(results: Path) -> dict[str, Any]:
    """One call of the program on a simulated machine; faults count from now on."""
    ctypes.CDLL(None).faults_arm()
    with pytest.MonkeyPatch.context() as patch:
        locks = results.parent / "locks"
        locks.mkdir(exist_ok=True)
        lab = testing.installed(patch, locks, pages=True)
        patch.setattr(runs, "execute", partial(measured, lab))
        patch.setattr(host, "read", lambda **_: FACTS[0])
        result = io.StringIO()
        with contextlib.redirect_stderr(result), contextlib.redirect_stdout(io.StringIO()):
            code = main(["run", str(results.parent / "small.toml"), "--results", str(results)])
    return {"code": code, "err": result.getvalue()}


def left(results: Path) -> dict[str, Any]:
    """What is on the disk: points by key, whether the record says that it is complete, parts."""
    records = list(store.records(results)) if results.is_dir() else []
    points: dict[str, Any] = {}
    complete = []
    for path in records:
        record = store.read(path)
        complete.append(record.is_complete)
        for one in record.outcomes():
            points[one.point.key] = [str(one.verdict), one.requests, one.p99_ns]
    every = [str(p.relative_to(results)) for p in results.rglob("*")] if records else []
    return {
        "points": points,
        "complete": complete,
        "parts": [name for name in every if name.endswith(".part")],
        "page": [name for name in every if name.endswith("report.html")],
        "undone": [str(one) for one in runs.restore(results.parent / "state")],
        "journal": len(journal.read(results.parent / "state")),
    }


def imported(results: Path) -> None:
    """Import what a run imports on its way, so that no later one has to."""

    def names() -> dict[str, Any]:
        run(results)
        return {"names": sorted(sys.modules)}

    for name in child(names)["names"]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def each(folder: Path, shared: Shared, asked: Asked) -> Iterator[dict[str, Any]]:
    """A line for each call of the study: how it ended when that failed, and what then remained."""
    results = folder / "results"

    def seen() -> dict[str, Any]:
        return {**child(lambda: left(results)), "running": ended({os.getpid()})}

    shutil.rmtree(results, ignore_errors=True)
    shared.set(0, 0)
    first = child(lambda: run(results))
    total = shared.count
    yield {"n": 0, "calls": total, **first, "left": seen()}
    for number in asked.numbers(total):
        shutil.rmtree(results, ignore_errors=True)
        shared.set(number, asked.error)
        done = child(lambda: run(results))
        call, reached = shared.last.replace(str(folder), ""), shared.count >= number
        shared.set(0, 0)
        row = {"n": number, "call": call, "reached": reached, **done, "left": seen()}
        again = child(lambda: run(results))
        yield {**row, "again": again["code"], "again_err": again["err"], "then": seen()}


def begin() -> None:
    """Command line: FOLDER ASKED."""
    folder, asked = Path(sys.argv[1]), Asked(**json.loads(sys.argv[2]))
    FACTS.append(host.read())  # what takes long and is no writing is done once, before the forks
    page.policy()
    (folder / "small.toml").write_text(of_simulated(), encoding="utf-8")
    shared = Shared(Path(os.environ["FAULT_FILE"]))
    adopt(is_so=True)
    imported(folder / "results")
    for line in each(folder, shared, asked):
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    begin()
