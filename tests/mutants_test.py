"""What `scripts/mutants` changes in Python code: each change is one, and runs as what it says."""

from __future__ import annotations

import random
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
OPERATORS = runpy.run_path(str(ROOT / "scripts" / "mutation" / "operators.py"))


def changes(source: str) -> list[str]:
    return [mutant.change for mutant in OPERATORS["mutants"](source)]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("x = a - b", {"1: a - b -> a + b"}),
        ("x = a < b", {"1: a < b -> a <= b", "1: a < b -> a >= b"}),
        ("x = 0.0", {"1: x = 0.0 -> x = 1.0"}),
        ("x = True", {"1: x = True -> x = False"}),
        ("x = f(-y)", {"1: f(-y) -> f(y)"}),
        ("x = min(a, b)", {"1: min(a, b) -> max(a, b)"}),
        ("x = a if b else c", {f"1: a if b else c -> a if {v} else c" for v in (True, False)}),
        ("x = [a for a in b if a]", {"1: a -> True"}),
        ("def f(x: 'int' = 3) -> int:\n    'Add 1.'\n    assert x > 0", {"1: 3 -> 4"}),
        ("GRID = (0.1, 0.5, 0.9)", set()),
        ("@cache(2)\nclass A:\n    x: Literal[1]", set()),
    ],
)
def test_one_change_a_mutant(source: str, wanted: set[str]) -> None:
    assert set(changes(source)) == wanted


def test_a_mutant_differs_from_its_file_in_one_place_and_compiles() -> None:
    """Of our own code: the line that a mutant names is the only one that changed."""
    path = ROOT / "python" / "sojourn" / "plan" / "search.py"
    text = path.read_text()
    results = list(OPERATORS["mutants"](text))
    plain = OPERATORS["ast"].unparse(OPERATORS["ast"].parse(text)).splitlines()
    for mutant in random.Random(1).sample(results, 30):  # noqa: S311 - no secret
        lines = OPERATORS["mutated"](text, mutant.number).splitlines()
        compile("\n".join(lines), "mutant", "exec")
        differ: list[Any] = [pair for pair in zip(plain, lines, strict=True) if len({*pair}) > 1]
        assert len(differ) == 1, mutant.change
