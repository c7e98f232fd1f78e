"""Tests run where they are to: a group with one worker, those on real servers by `make e2e`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

IN_A_GROUP = """
import os, pathlib, pytest

@pytest.mark.xdist_group("turn")
@pytest.mark.parametrize("way", ["one", "two@three", "four", "five"])
def test_it(way):
    pathlib.Path(way).write_text(os.environ["PYTEST_XDIST_WORKER"])
"""

ROOT = Path(__file__).parents[1]


def workers(folder: Path, test: str) -> set[str]:
    """Which of two workers ran the four cases of a test."""
    folder.mkdir()
    (folder / "it_test.py").write_text(test)
    words = ["-p", "no:cacheprovider", "-q", "-n", "2", "--dist", "loadgroup", "it_test.py"]
    outside = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    subprocess.run([sys.executable, "-m", "pytest", *words], cwd=folder, env=outside, check=True)
    return {(folder / way).read_text() for way in ("one", "two@three", "four", "five")}


def test_a_group_of_tests_stays_with_one_worker(tmp_path: Path) -> None:
    assert len(workers(tmp_path / "grouped", IN_A_GROUP)) == 1


def test_what_has_no_group_is_shared_among_workers(tmp_path: Path) -> None:
    loose = IN_A_GROUP.replace('@pytest.mark.xdist_group("turn")\n', "")
    assert len(workers(tmp_path / "loose", loose)) == 2


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
