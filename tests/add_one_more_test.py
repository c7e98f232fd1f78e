"""One more of every kind is one file and its line in a table, and a study can name it at once."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

grow = SimpleNamespace(**runpy.run_path(str(Path(__file__).parent / "add_one_more" / "grow.py")))
# fmt: off
KINDS = {
    "controller", "knob", "neighbour", "place", "probe", "protocol", "question", "service",
}
# fmt: on
STUDY = """
name = "one_more"
question = "Does a study see what was added?"
neighbour = "wakeups"
manager = "gentle"
[run]
profile = "quick"
[[services]]
kind = "files"
place = "loopback2"
measure = ["half"]
[services.knobs]
core = "0"
[services.qos]
q = 0.99
bound = "1ms"
"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with one more of every kind."""
    copy = tmp_path_factory.mktemp("grown")
    grow.copy(copy)
    grow.add(copy, grow.additions())
    return copy


def test_each_is_new_files_and_a_line_of_a_table_with_its_import(grown: Path) -> None:
    wanted = grow.additions()
    assert {one.kind for one in wanted} == KINDS
    touched = grow.touched(grown)
    new = {name for one in wanted for _, name in one.files}
    tables = {name for one in wanted for name, _, _ in one.lines}
    assert set(touched) == new | tables
    for one in wanted:
        per_table = {name for name, _, _ in one.lines}
        folders = {name.rpartition("/")[0] for _, name in one.files}
        assert len(folders) == len(per_table) == 1
        assert len(one.files) == (4 if one.kind == "question" else 1)
    for table in tables:
        added, deleted = touched[table]
        assert added <= 2, "the line, and the import"
        assert deleted <= 1, "the import"


def test_a_study_that_names_them_is_planned(grown: Path) -> None:
    (grown / "one_more.toml").write_text(STUDY)
    python(grown, "-m", "sojourn.schema")  # as `make schema`: what studies are held against
    text = python(grown, "-m", "sojourn", "plan", "one_more.toml")
    assert "half of the load" in text
    kinds = python(grown, "-m", "sojourn", "kinds", "--json")
    for name in ("files", "loopback2", "core", "wakeups", "pressure", "steady", "half", "gentle"):
        assert f'"{name}"' in kinds


def test_a_protocol_with_operation_option_and_greeting_compiles(grown: Path) -> None:
    check = subprocess.run(
        ["cargo", "check", "--release", "--locked", "--quiet", "-p", "sojourn-load", "--tests"],
        cwd=grown,
        env={"CARGO_TARGET_DIR": str(grow.PROJECT / "target"), **os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stderr[-3000:]


def test_what_tables_and_docs_are_held_against_takes_them(grown: Path) -> None:
    packages = (
        "places",
        "services",
        "knobs",
        "actors",
        "questions/question_test.py",
        "controllers",
    )
    tests = [f"python/sojourn/{name}" for name in packages]
    picked = "table or names or describes or docstring"
    python(
        grown,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        picked,
        *tests,
        "tests/docs_test.py",
    )


def test_what_is_not_there_to_be_changed_is_refused(tmp_path: Path) -> None:
    grow.copy(tmp_path)
    grow.add(tmp_path, grow.additions())
    with pytest.raises(ValueError, match="there already"):
        grow.add(tmp_path, grow.additions())


def python(copy: Path, *words: str) -> str:
    """What Python says in the copy, whose package comes before the installed one."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "python"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
