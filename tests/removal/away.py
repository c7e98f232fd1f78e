"""Takes questions away from a copy of the package: folder, lines of the table, studies that ask.

A question that others build on is taken away together with these, as the pairs of the import
contract in `pyproject.toml` name them.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PACKAGE = PROJECT / "python" / "sojourn"
QUICK = ("analysis", "plan", "record", "report", "questions", "stats", "spec", "findings")
DEFAULT = ("sweep", "max_load")  # what a service without `measure` is asked
_QUOTED = re.compile(r"[\"'`](\w+)[\"'`]|\.(\w+)\b")  # in a text: `blame`, services.x.blame
_PAIR = re.compile(r"sojourn\.questions\.(\w+)\.\*\* -> sojourn\.questions\.(\w+)\.\*\*")


def names() -> tuple[str, ...]:
    """Every question, by its folder."""
    return tuple(sorted(path.parent.name for path in (PACKAGE / "questions").glob("*/plan.py")))


def pairs(project: Path = PROJECT) -> frozenset[tuple[str, str]]:
    """(who builds on, on whom) of the contract."""
    table = tomllib.loads((project / "pyproject.toml").read_text())
    contracts = table["tool"]["importlinter"]["contracts"]
    lines = [line for one in contracts for line in one.get("ignore_imports", ())]
    matches = (_PAIR.fullmatch(line) for line in lines)
    return frozenset((match[1], match[2]) for match in matches if match)


def with_dependants(name: str) -> frozenset[str]:
    """A question and all that build on it."""
    gone, before = {name}, set[str]()
    while gone != before:
        before = set(gone)
        gone |= {who for who, on in pairs() if on in gone}
    return frozenset(gone)


def turn(asked: str) -> tuple[str, ...]:
    """Whose tests are run this time: all, those that are named, or one by the commit's number."""
    if asked:
        return names() if asked == "all" else tuple(asked.split(","))
    return (names()[_number() % len(names())],)


def _number() -> int:
    """Of the commit; 0 where there is no repository."""
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    return int(done.stdout[:8] or "0", 16)


def tests_without(of: Path, gone: Iterable[str], asked: str | None) -> list[str]:
    """Files of tests that name none of these, of one package, or of all that are quick."""
    package = of / "python" / "sojourn"
    some = QUICK if asked else (QUICK[_number() // len(names()) % len(QUICK)],)
    named = re.compile(rf"\b({'|'.join(map(re.escape, sorted(gone)))})\b")
    every = [path for folder in some for path in sorted((package / folder).rglob("*_test.py"))]
    return [str(path) for path in every if not named.search(path.read_text())]


def copy(to: Path, *, with_tests: bool = False) -> None:
    """What the checks look at: the package, with or without its tests, and the contracts."""
    tests = () if with_tests else ("*_test.py", "testing*", "*_testing.py", "golden")
    shutil.copytree(
        PACKAGE, to / "python" / "sojourn", ignore=shutil.ignore_patterns("__pycache__", *tests)
    )
    if with_tests:
        shutil.copy(PROJECT / "conftest.py", to)
        shutil.copytree(PROJECT / "tests" / "hosts", to / "tests" / "hosts")
        (to / "crates").symlink_to(PROJECT / "crates")  # some tests read their tables
    text = (PROJECT / "pyproject.toml").read_text()
    selected = [line for line in text.splitlines() if "sojourn.testing_questions ->" not in line]
    _replace(to / "pyproject.toml", selected)


def link(source: str, to: str) -> None:
    """Copy a file for `shutil.copytree`: code as a hard link, which is not to be written in place.

    Python and `take` replace files; of what tools write beside the code nothing is known.
    """
    if source.endswith((".py", ".pyc")):
        os.link(source, to)
    else:
        shutil.copy2(source, to)


def _replace(path: Path, lines: Iterable[str]) -> None:
    """Write a new file: another copy may have the same one by a link."""
    path.unlink(missing_ok=True)
    path.write_text("\n".join(lines) + "\n")


def take(of: Path, gone: Iterable[str]) -> set[str]:
    """Take questions away from a copy; the names of the studies that went with them."""
    studies = set()
    package = of / "python" / "sojourn"
    table, contracts = package / "questions" / "__init__.py", of / "pyproject.toml"
    for name in gone:
        shutil.rmtree(package / "questions" / name)
        lines = table.read_text().splitlines()
        left = [line for line in lines if line not in {f"    {name},", f"    {name}.KIND,"}]
        assert len(lines) - len(left) == 2, f"{name} has not an import and a line in the table"
        _replace(table, left)
        named = re.compile(rf"sojourn\.questions\.{name}\b")
        lines = contracts.read_text().splitlines()
        _replace(contracts, [line for line in lines if not named.search(line)])
        for study in (package / "studies").glob("*.toml"):
            if name in asked(tomllib.loads(study.read_text())):
                studies.add(study.stem)
                study.unlink()
    return studies


def asked(study: Mapping[str, object]) -> set[str]:
    """The questions that a study's table asks, by name."""
    services = study.get("services", [])
    assert isinstance(services, list)
    results = {name for service in services for name in service.get("measure", DEFAULT)}
    matrix = study.get("qos_matrix")
    if isinstance(matrix, dict) and matrix.get("properties"):
        results.add("scheduler_bakeoff")
    return results | {name for name in ("together", "qos_matrix") if name in study}


def words(text: str) -> set[str]:
    """What a module says: attributes, texts, words in quotes or behind a dot, and its imports.

    Docstrings are left out.
    """
    tree = ast.parse(text)
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    result = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            result |= {node.value, *(word for pair in _QUOTED.findall(node.value) for word in pair)}
        elif isinstance(node, ast.Attribute):
            result.add(node.attr)
        elif isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            result |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return result
