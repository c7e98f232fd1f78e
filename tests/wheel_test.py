"""The wheel has neither tests nor what only they use, and nothing in it misses them."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "python" / "sojourn"
OF_TESTS = ("pytest", "hypothesis", "_pytest")


def left_out() -> set[Path]:
    """Files that `pyproject.toml` keeps out of a wheel."""
    table = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["maturin"]
    globs = [one["path"] for one in table["exclude"] if one["format"] == "wheel"]
    return {path for glob in globs for path in PROJECT.glob(glob)}


def imported(path: Path) -> Iterator[str]:
    """Modules that a module imports, also within functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_tests_and_their_helpers_stay_out_of_the_wheel() -> None:
    out = left_out()
    every = set(PACKAGE.rglob("*.py"))
    assert {path for path in every if path.stem.endswith("_test")} <= out
    assert {path for path in every if path.stem.startswith("testing")} <= out
    assert PACKAGE / "run" / "execute.py" in every - out


def test_what_is_in_the_wheel_needs_nothing_that_is_not() -> None:
    out = left_out()
    names = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in out
        if path.suffix == ".py"
    }
    wrong = [
        f"{path.relative_to(PROJECT)} imports {name}"
        for path in sorted(set(PACKAGE.rglob("*.py")) - out)
        for name in imported(path)
        if name in names or name.partition(".")[0] in OF_TESTS
    ]
    assert wrong == []
