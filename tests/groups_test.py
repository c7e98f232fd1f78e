"""Tests run where they are to: a group with one worker, those on real servers by `make e2e`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

IN_A_GROUP = """
import os, pathlib, pytest

@pytest.mark.xdist_group("turn")
@pytest.mark.parametrize("way", ["one", "two@three", "four", "five"])
def test_it(way):
    at = pathlib.Path(__file__).with_name(way)
    at.write_text(os.environ["PYTEST_XDIST_WORKER"])
"""
MARK = '@pytest.mark.xdist_group("turn")\n'

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, set[str]]:
    """Which of two workers ran the four cases of a test, with and without a group, in one run."""
    folder = tmp_path_factory.mktemp("shared")
    tests = {"loose": IN_A_GROUP.replace(MARK, ""), "grouped": IN_A_GROUP}
    for name, test in tests.items():
        (folder / name).mkdir()
        (folder / name / f"{name}_test.py").write_text(test)
    # In this order each worker begins with a case that has no group.
    words = ["-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder", *tests]
    outside = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    pytest_ = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]
    subprocess.run([*pytest_, *words], cwd=folder, env=outside, check=True)
    ways = ("one", "two@three", "four", "five")
    return {name: {(folder / name / way).read_text() for way in ways} for name in tests}


def test_a_group_of_tests_stays_with_one_worker(workers: Mapping[str, set[str]]) -> None:
    assert len(workers["grouped"]) == 1


def test_what_has_no_group_is_shared_among_workers(workers: Mapping[str, set[str]]) -> None:
    assert len(workers["loose"]) == 2


def test_tests_on_real_servers_lie_where_make_e2e_looks() -> None:
    root = ROOT / "tests"
    files = [*root.rglob("*_test.py"), *root.with_name("python").rglob("*_test.py")]
    mark = "pytest.mark." + "e2e"  # this file has none
    folders = {path.parent for path in files if mark in path.read_text()}
    assert folders == {root / "e2e"}


def test_every_test_program_of_the_crates_is_run_by_make_test() -> None:
    words = ["make", "-n", "-o", "build", "rust-untraced", "rust-live"]
    outside = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    text = subprocess.check_output(words, cwd=ROOT, env=outside, text=True)
    files = [*ROOT.glob("crates/*/tests/*.rs"), *ROOT.glob("crates/*/tests/*/main.rs")]
    names = [path.parent.name if path.name == "main.rs" else path.stem for path in files]
    assert sorted(re.findall(r"--test (\w+)", text)) == sorted(names)
    assert " --lib " in text
