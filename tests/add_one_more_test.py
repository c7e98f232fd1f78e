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
KINDS_BELOW = "-- kinds --\n"
#: The contract as `make schema` writes it, which studies are held against; then a study, and kinds.
GO = f"""
import sys
from sojourn.cli.app import main
from sojourn.schema.__main__ import main as contract
codes = [contract(), main(["plan", "one_more.toml"])]
print({KINDS_BELOW!r}, end="", flush=True)
sys.exit(max(*codes, main(["kinds", "--json"])))
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
    text, _, kinds = python(grown, "-c", GO).partition(KINDS_BELOW)
    assert "half of the load" in text
    for name in ("files", "loopback2", "core", "wakeups", "pressure", "steady", "half", "gentle"):
        assert f'"{name}"' in kinds


def test_a_protocol_with_operation_option_and_greeting_compiles(grown: Path) -> None:
    """It unwinds as in `make check-rust`, so that what it is made of was checked already."""
    check = subprocess.run(
        ["cargo", "check", "--release", "--locked", "--quiet", "-p", "sojourn-load", "--tests"],
        cwd=grown,
        env={
            "CARGO_TARGET_DIR": str(grow.PROJECT / "target"),
            "CARGO_PROFILE_RELEASE_PANIC": "unwind",
            **os.environ,
        },
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
    # Not the one that adds a question by itself, to a copy of this copy.
    picked = "(table or names or describes or docstring) and not folder_and_a_line"
    words = ["-q", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    # fmt: off
    python(
        grown, "-m", "pytest", *words, "--assert=plain", "-k", picked, *tests, "tests/docs_test.py"
    )
    # fmt: on


def test_what_is_not_there_to_be_changed_is_refused(grown: Path) -> None:
    with pytest.raises(ValueError, match="there already"):
        grow.add(grown, grow.additions())


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
