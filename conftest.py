"""Fixtures for the tests beside the modules and for those in `tests/`."""

from __future__ import annotations

import gc
import importlib
import os
import runpy
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings
from typer import main as typer_main

from sojourn import extras, handed

PACKAGE = Path(__file__).parent / "python" / "sojourn"
#: Packages whose modules need an extra of the installation; where it lacks, only tests are looked
#: at, which are skipped by name.
NEEDS = {"view": ("starlette", "uvicorn"), "assistant": ("mcp",)}
collect_ignore = [
    str(path)
    for folder, names in NEEDS.items()
    if not all(map(extras.is_here, names))
    for path in (PACKAGE / folder).glob("*.py")
    if not path.stem.endswith("_test")
]
# Else each program that a test starts compiles the package anew. Who sets the flag alone means it:
# `scripts/mutants` keeps no bytecode of a mutant.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False
# Workers share the CPUs: threads of BLAS, which wait by spinning, would take them from one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Who calls the command line again in one process need not build all commands again.
typer_main.get_command = cache(typer_main.get_command)
# No test asserts a time: an example may take as long as the machine lets it.
settings.register_profile("any_machine", deadline=None)
settings.load_profile("any_machine")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Skip modules without an example: each worker would import them and look at every function.

    `tests/removal_test.py` still loads every module.
    """
    is_module = collection_path.suffix == ".py" and not collection_path.stem.endswith("_test")
    if not is_module or PACKAGE not in collection_path.parents:
        return None
    return b">>>" not in collection_path.read_bytes() or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage only afterwards: what is collected stays, and each look goes through it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[object], list[object]]:
    """Look for examples only in files that have one; tests of a file are looked for as ever."""
    collectors = yield
    if b">>>" in file_path.read_bytes():
        return collectors
    return [one for one in collectors if not isinstance(one, DoctestModule)]


def _form() -> object:
    from sojourn import questions  # noqa: PLC0415  # many tests read no study

    return questions.form()


handed.hand_in(handed.STUDY_FORM, _form)
FakeHost = Callable[[str], Path]


@pytest.fixture
def fake_host(tmp_path: Path) -> FakeHost:
    """Write one of the fake machines of tests/hosts; returns its root folder."""
    source = Path(__file__).parent / "tests" / "hosts" / "machines.py"
    machines = runpy.run_path(str(source))

    def write(name: str) -> Path:
        root: Path = machines["write"](name, tmp_path / name)
        return root

    return write


@pytest.fixture(autouse=True)
def _shown_as_in_a_report() -> Iterator[None]:
    """Who asks a part of a report sees the sections of all questions, as `report.write` has it."""
    if (
        "sojourn.report" not in sys.modules
    ):  # no test of this file needs it, and it takes a second to load
        yield
        return
    from sojourn import questions  # noqa: PLC0415  # see above
    from sojourn.report.parts import using  # noqa: PLC0415

    with using(questions.parts()):
        yield


@pytest.fixture
def sigint_raises() -> Iterator[None]:
    """SIGINT raises here, also where the tests run in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def bench_modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Callable[[str], Any]]]:
    """Import modules of `bench/` by their names, with the folders of it that are given.

    None of them is left behind, because their names are common.
    """
    root, before = Path(__file__).parent / "bench", set(sys.modules)

    def of(*folders: str) -> Callable[[str], Any]:
        for folder in folders:
            monkeypatch.syspath_prepend(str(root / folder))
        return importlib.import_module

    yield of
    for name in set(sys.modules) - before:
        if str(root) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
