"""The cut of `crates/`: which crate may stand on which, and no circles between modules of one.

The Python side has import-linter for this; here manifests and `use` lines are read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).parent.parent / "crates"
# Lowest first: a crate stands only on those before it, never on one of its own line.
LAYERS = (
    ("base",),
    ("workload",),
    ("counters", "load", "noise", "query", "serve", "sim", "trace"),
    ("sched",),
    ("tools",),
)
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}


def _stands_on(crate: str) -> set[str]:
    """The crates of this workspace in a manifest, those for tests too."""
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text())
    tables = (manifest.get(key, {}) for key in ("dependencies", "dev-dependencies"))
    names = {name for table in tables for name in table if name.startswith("sojourn-")}
    return {name.removeprefix("sojourn-") for name in names}


def test_every_crate_has_a_layer() -> None:
    assert {path.parent.name for path in CRATES.glob("*/Cargo.toml")} == set(LEVELS)


def test_a_crate_stands_only_on_those_below_it() -> None:
    wrong = {
        f"{crate} on {other}"
        for crate in LEVELS
        for other in _stands_on(crate)
        if LEVELS[other] >= LEVELS[crate]
    }
    assert not wrong


def test_the_simulator_brings_in_no_socket_and_no_parquet() -> None:
    manifest = tomllib.loads((CRATES / "sim" / "Cargo.toml").read_text())
    assert not {"parquet", "io-uring", "socket2", "sojourn-load"} & set(manifest["dependencies"])


def modules(files: Mapping[str, str]) -> dict[str, list[str]]:
    """Which top-level modules of a crate each of them names, itself and tests left out.

    A module is a file or a folder of `src`, so a circle is one between things a reader sees side by
    side; what a folder's own files know of each other is its own affair.

    Args:
        files: text by path below `src`.

    >>> modules({"a.rs": "use crate::{b, c::{D, d}};", "b/x.rs": "// crate::a", "d.rs": ""})
    {'a': ['b'], 'b': [], 'd': []}
    """
    tops = {path.split("/")[0].removesuffix(".rs") for path in files} - {"lib", "main"}
    named: dict[str, set[str]] = {top: set() for top in sorted(tops)}
    for path, text in files.items():
        top = path.split("/")[0].removesuffix(".rs")
        if top in named and not re.search(r"(tests|fake)(/|\.rs$)", path):
            code = re.sub(r"//.*", "", text.split("#[cfg(test)]\nmod tests {")[0])
            named[top] |= (_named(code) & tops) - {top}
    return {top: sorted(names) for top, names in named.items()}


def _named(code: str) -> set[str]:
    """First names after `crate::`, those of a braced list too."""
    inner = re.compile(r"(?<!\bcrate)::\{[^{}]*\}")
    while inner.search(code):
        code = inner.sub("", code)
    lists = re.findall(r"\bcrate::\{([^{}]*)\}", code)
    parts = [part.strip() for names in lists for part in names.split(",")]
    return set(re.findall(r"\bcrate::(\w+)", code)) | {part.split("::")[0] for part in parts}


def circle(named: Mapping[str, Sequence[str]]) -> list[str]:
    """One circle, each module named by the next; empty if there is none.

    >>> circle({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]})
    ['a', 'c', 'b', 'a']
    >>> circle({"a": ["b"], "b": []})
    []
    """
    try:
        TopologicalSorter(named).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def _files(crate: str) -> dict[str, str]:
    src = CRATES / crate / "src"
    return {str(path.relative_to(src)): path.read_text() for path in sorted(src.rglob("*.rs"))}


@pytest.mark.parametrize(
    "crate", ["base", "workload", "load", "noise", "serve", "sim", "trace", "sched"]
)
def test_modules_of_a_crate_stand_in_no_circle(crate: str) -> None:
    assert not circle(modules(_files(crate)))
