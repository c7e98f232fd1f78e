"""A small study again and again, in each of which another call of one kind fails (`faults.c`).

    faults.py simulated FOLDER [EVERY]   on a machine that is simulated; a line of JSON for each n

The program is preloaded with `faults.c`. It forks for each n, so nothing is imported twice, and the
child calls the command line as a person does: first with the fault, then without, which resumes.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sojourn import disk, host, store, testing
from sojourn import run as runs
from sojourn.cli.app import main
from sojourn.plan import Point
from sojourn.report import files, page
from sojourn.spec import Study

STUDY = """schema = "sojourn.study/1"
name = "small"
question = "What remains?"
aa = false
[run]
measure_s = 0.2
repeats = 1
retries = 2
fractions = [0.2]
peak_s = 0.2
peak_repeats = 1
[[services]]
kind = "memcached"
measure = ["sweep"]
[services.qos]
q = 0.99
bound = "1ms"
"""
HEAD = struct.Struct("lll")
LAST = 4096
FACTS: list[host.Facts] = []


class Shared:
    """What all processes of a run see: which call fails, and how many there were."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def set(self, at: int, error: int) -> None:
        """Let the call number `at` fail from now on; 0: none."""
        with self._path.open("r+b") as file:  # never shorter: it is mapped
            file.write(HEAD.pack(at, 0, error) + bytes(LAST))

    @property
    def count(self) -> int:
        """Calls so far."""
        return int(HEAD.unpack_from(self._path.read_bytes())[1])

    @property
    def last(self) -> str:
        """The call that failed, and on what."""
        return self._path.read_bytes()[HEAD.size :].partition(b"\0")[0].decode()


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
    with os.fdopen(read) as said:
        text = said.read()
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
        patch.setattr(files, "pictures", lambda figure: iter([("csv", b"x"), ("svg", b"x")]))
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = main(["run", str(results.parent / "small.toml"), "--results", str(results)])
    return {"code": code, "err": said.getvalue()}


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
    }


def each(folder: Path, shared: Shared, error: int, every: int) -> Iterator[dict[str, Any]]:
    """A line for each call of the study: how it ended when that failed, and what then remained."""
    results = folder / "results"

    def clean() -> None:
        shutil.rmtree(results, ignore_errors=True)

    clean()
    shared.set(0, 0)
    first = child(lambda: run(results))
    total = shared.count
    yield {"n": 0, "calls": total, **first, "left": child(lambda: left(results))}
    first_n = int(os.environ.get("FAULT_FIRST", "1"))
    for number in range(first_n, total + 1, every):
        clean()
        shared.set(number, error)
        done = child(lambda: run(results))
        call = shared.last.replace(str(results), "")
        shared.set(0, 0)
        found = child(lambda: left(results))
        again = child(lambda: run(results))
        yield {
            "n": number,
            "call": call,
            **done,
            "left": found,
            "again": again["code"],
            "again_err": again["err"],
            "then": child(lambda: left(results)),
        }


def begin() -> None:
    """Command line: simulated FOLDER ERROR EVERY."""
    folder, error, every = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    FACTS.append(host.read())  # what takes long and is no writing is done once, before the forks
    page.policy()
    (folder / "small.toml").write_text(STUDY, encoding="utf-8")
    shared = Shared(Path(os.environ["FAULT_FILE"]))
    for line in each(folder, shared, error, every):
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    begin()
