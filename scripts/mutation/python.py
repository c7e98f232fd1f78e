"""Mutants of a Python package: tried one by one with its own unit tests.

Each is tried by pytest in a fork of a process that has the large libraries loaded already: they
take longer to import than most of our tests to run. Quick tests come first, and those that take
more than `SLOW_S` are left out, but for those beside the file (`x_test.py` of `x.py`): so a score
is a lower bound, and a survivor costs seconds.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutation.operators import mutants, mutated

LOADED = ("pytest", "numpy", "scipy.stats", "scipy.optimize", "pydantic", "duckdb")
LOADED_TOO = ("pyarrow.parquet", "statsmodels.api", "altair", "typer")
NO_TESTS = 5  # pytest's exit status
TIMES_MAX = 10  # as long as the tests take without a mutant: longer, and it never ends
LEAST_S = 60.0
SLOW_S = 3.0  # of CPU time
TIMED, OUTPUT = ".test-seconds.json", ".test-output"  # in the copy of the tree
# What only tests import is test code, whatever it is called.
HELPERS = ("_test.py", "plan/simulated.py", "/testing.py", "/testing_state.py")


@dataclass(slots=True)
class Package:
    """A package in the copy of the tree; `name` is that of its folder under python/sojourn."""

    tree: Path
    name: str
    most_s: float = field(default=600.0)

    def __post_init__(self) -> None:
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # its threads outlive no fork
        try:
            for library in (*LOADED, *LOADED_TOO):
                importlib.import_module(library)
        except ModuleNotFoundError as lacking:
            sys.exit(
                f"error: {lacking}\n  fix: make build, then .venv/bin/python scripts/mutants …"
            )

    @property
    def folder(self) -> Path:
        """Where it lies in the copy."""
        return self.tree / "python" / "sojourn" / self.name

    def listed(self) -> list[dict[str, Any]]:
        """Every mutant: name, file, number in it."""
        results: list[dict[str, Any]] = []
        for path in sorted(self.folder.rglob("*.py")):
            file = path.relative_to(self.tree).as_posix()
            if not file.endswith(HELPERS):
                made = mutants(path.read_text())
                results += [
                    {"name": f"{file}:{m.change}", "file": file, "number": m.number} for m in made
                ]
        return results

    def tried(self, mutant: dict[str, Any]) -> str:
        """What became of one mutant; the file is put back."""
        file = self.tree / mutant["file"]
        text, age = file.read_text(), file.stat()
        file.write_text(mutated(text, mutant["number"]))
        try:
            return self.outcome(file)
        finally:
            file.write_text(text)
            os.utime(file, ns=(age.st_atime_ns, age.st_mtime_ns))  # its bytecode stays valid

    def outcome(self, near: Path | None = None) -> str:
        """`survived` or `caught`; what never ends is caught.

        Args:
            near: the file that is mutated: its own tests run first; None: no mutant.
        """
        began_s = time.monotonic()
        status = 0
        if near is not None:
            beside = [path for path in self._tests() if _is_beside(Path(path), near)]
            status = _forked(self.tree, beside, near, self.most_s) if beside else 0
        if status in {0, NO_TESTS}:
            status = _forked(self.tree, self._tests(), near, self.most_s)
        if status == NO_TESTS:
            sys.exit(f"error: there is no test in sojourn.{self.name}")
        if near is None:
            self.most_s = max(LEAST_S, TIMES_MAX * (time.monotonic() - began_s))
        return "caught" if status else "survived"

    def _tests(self) -> list[str]:
        """The package's files: its tests, and all others for their doctests."""
        return [str(path) for path in sorted(self.folder.rglob("*.py"))]


def _forked(tree: Path, tests: list[str], near: Path | None, most_s: float) -> int:
    """Pytest's exit status in a process of its own, 1 if it had to be ended."""
    child = os.fork()
    if not child:
        _test(tree, tests, near)
    deadline_s = time.monotonic() + most_s
    while time.monotonic() < deadline_s:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


class _Order:
    """A plugin of pytest: the nearest test first, then the quickest; the slow ones not at all.

    Without a mutant (`near` is None) it keeps how long each took. What is not known yet runs.
    """

    def __init__(self, file: Path, near: Path | None) -> None:
        self.file, self.near = file, near
        self.took: dict[str, float] = json.loads(file.read_text()) if file.exists() else {}
        self.began = 0.0

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        def took_s(item: Any) -> float:
            is_near = _is_beside(item.path, self.near)
            return (-1.0 if is_near else 0.0) + self.took.get(item.nodeid, 0.0)

        selected = (i for i in items if took_s(i) <= SLOW_S or _is_beside(i.path, self.near))
        items[:] = sorted(selected, key=took_s)

    def pytest_runtest_logstart(self) -> None:
        self.began = sum(os.times()[:4])

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.took[nodeid] = sum(os.times()[:4]) - self.began

    def pytest_sessionfinish(self) -> None:
        if self.near is None:
            self.file.write_text(json.dumps(self.took))


def _is_beside(test: Path, near: Path | None) -> bool:
    return near is not None and test.name in {near.name, f"{near.stem}_test.py"}


def _test(tree: Path, tests: list[str], near: Path | None) -> None:
    """Run tests and end this process; it never returns."""
    status = 1
    try:
        os.setsid()
        os.chdir(tree)
        report = os.open(tree / OUTPUT, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        for stream in (0, 1, 2):
            os.dup2(report, stream)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else conftest.py turns the flag off
        sys.dont_write_bytecode = near is not None  # of a mutant it would outlast it
        sys.path.insert(0, str(tree / "python"))
        os.environ["PYTHONPATH"] = str(tree / "python")
        pytest = importlib.import_module("pytest")
        options = ["-x", "-q", "-m", "not e2e and not privileged", "-p", "no:cacheprovider"]
        status = int(pytest.main([*options, *tests], plugins=[_Order(tree / TIMED, near)]))
    except BaseException:  # noqa: BLE001 - a fork must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
