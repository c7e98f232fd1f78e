"""No program of the lab imports what lies in the folder in which somebody starts it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOJOURN = Path(sys.executable).with_name("sojourn")
PACKAGE = Path(__file__).parents[1] / "python" / "sojourn"
PLANTED = ("json", "typer", "tomllib", "rich", "sojourn", "sojourn/__init__", "multiprocessing")


def plant(folder: Path) -> Path:
    """Modules that leave a file when they run, and end their program; that file."""
    mark = folder / "has run"
    for name in PLANTED:
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(mark)!r}, 'a').write(__name__)\nraise SystemExit(0)\n")
    return mark


def start(folder: Path, *words: str, **env: str) -> tuple[int, str]:
    done = subprocess.run(
        [SOJOURN, *words],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("command", ["--version", "--help", "kinds", "ls", "show"])
def test_what_lies_in_the_working_folder_is_not_imported(tmp_path: Path, command: str) -> None:
    (tmp_path / "empty").mkdir()
    mark = plant(tmp_path / "full")
    there = start(tmp_path / "full", command)
    assert not mark.exists(), mark.read_text()
    here = start(tmp_path / "empty", command)
    assert there == (here[0], here[1].replace(f"{tmp_path}/empty", f"{tmp_path}/full"))


def test_the_user_s_own_path_is_looked_through(tmp_path: Path) -> None:
    mark = plant(tmp_path / "own")
    assert start(tmp_path, "--version", PYTHONPATH=f"{tmp_path}/own") == (0, "")
    assert mark.read_text() == "sojourn"


def starts_of_python(tree: ast.AST) -> Iterator[tuple[int, str | None]]:
    """Commands that begin with this interpreter: the line, and the first option if it is a text."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
            if ast.unparse(node.elts[0]) != "sys.executable":
                continue
            option = node.elts[1] if len(node.elts) > 1 else None
            yield node.lineno, option.value if isinstance(option, ast.Constant) else None


def test_every_interpreter_that_the_lab_starts_looks_nowhere_else() -> None:
    sources = [path for path in PACKAGE.rglob("*.py") if not path.name.endswith("_test.py")]
    results = {
        f"{path.relative_to(PACKAGE)}:{line}": option
        for path in sources
        for line, option in starts_of_python(ast.parse(path.read_text()))
    }
    assert len(results) > 3, "the lab starts some: the search must find them"
    assert {at: option for at, option in results.items() if option not in {"-I", "-P"}} == {}
