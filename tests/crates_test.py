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
LOOM = CRATES.parent / "loom"
# Lowest first: a crate stands only on those before it, never on one of its own line.
LAYERS = (
    ("base",),
    ("workload",),
    ("counters", "load", "noise", "query", "serve", "sim", "trace"),
    ("sched",),
    ("tools",),
)
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}


def _dependencies(crate: str) -> set[str]:
    """The crates of this workspace in a manifest, those for tests too."""
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text())
    tables = (manifest.get(key, {}) for key in ("dependencies", "dev-dependencies"))
    names = {name for table in tables for name in table if name.startswith("sojourn-")}
    return {name.removeprefix("sojourn-") for name in names}


def test_every_crate_has_a_layer() -> None:
    assert {path.parent.name for path in CRATES.glob("*/Cargo.toml")} == set(LEVELS)


def test_a_crate_depends_only_on_those_below_it() -> None:
    wrong = {
        f"{crate} on {other}"
        for crate in LEVELS
        for other in _dependencies(crate)
        if LEVELS[other] >= LEVELS[crate]
    }
    assert not wrong


def test_the_simulator_brings_in_no_socket_and_no_parquet() -> None:
    manifest = tomllib.loads((CRATES / "sim" / "Cargo.toml").read_text())
    assert not {"parquet", "io-uring", "socket2", "sojourn-load"} & set(manifest["dependencies"])


def modules(files: Mapping[str, str], folder: str = "") -> dict[str, list[str]]:
    """Which modules of a folder name each other, tests left out.

    A module is a file or a folder, so a circle is one between things a reader sees side by side.
    What holds a folder together (`mod.rs`, or the file of its name) is none of them.

    Args:
        files: text by path below `src`.
        folder: the folder below `src`; empty: `src` itself.

    >>> modules({"a.rs": "use crate::{b, c::{D, d}};", "b/x.rs": "// crate::a", "d.rs": ""})
    {'a': ['b'], 'b': [], 'd': []}
    >>> modules({"a/b.rs": "use super::{E, c::D};", "a/c.rs": "crate::a::b::f()"}, "a")
    {'b': ['c'], 'c': ['b']}
    """
    above = tuple(folder.split("/")) if folder else ()
    own = {path: _module(path) for path in files}
    inside = {path: name for path, name in own.items() if _is_inside(name, above)}
    beside = {name[len(above)] for name in inside.values()} - {"lib", "main"}
    named: dict[str, set[str]] = {name: set() for name in sorted(beside)}
    for path, name in inside.items():
        if name[len(above)] in named and not re.search(r"(tests|fake)(/|\.rs$)", path):
            code = re.sub(r"//.*", "", files[path].split("#[cfg(test)]\nmod tests {")[0])
            meant = {other[len(above)] for other in _named(code, name) if _is_inside(other, above)}
            named[name[len(above)]] |= (meant & beside) - {name[len(above)]}
    return {name: sorted(others) for name, others in named.items()}


def _module(path: str) -> tuple[str, ...]:
    """A file's module below its crate: `("a", "b")` of `a/b.rs` and of `a/b/mod.rs`."""
    return tuple(path.removesuffix(".rs").removesuffix("/mod").split("/"))


def _is_inside(name: tuple[str, ...], above: tuple[str, ...]) -> bool:
    return len(name) > len(above) and name[: len(above)] == above


def _named(code: str, own: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Paths after `crate::` and `super::`, from the crate on, each of a braced list too."""
    results = set()
    for start in re.finditer(r"(?<![\w:$])(crate|super)((?:::super)*)::", code):
        up = 0 if start[1] == "crate" else 1 + start[2].count("super")
        above = () if start[1] == "crate" else own[: max(0, len(own) - up)]
        results |= {above + path for path in _paths(code, start.end())}
    return results


def _paths(code: str, at: int) -> list[tuple[str, ...]]:
    """The paths that begin at a place: one, or those of a braced list, nested ones too.

    >>> _paths("a::{b, c::{D, d}, e as f}; x", 0)
    [('a', 'b'), ('a', 'c', 'D'), ('a', 'c', 'd'), ('a', 'e')]
    """
    name = re.compile(r"\s*(\w+)").match(code, at)
    if name:
        behind = code[name.end() :]
        rest = _paths(code, name.end() + 2) if behind.startswith("::") else []
        return [(name[1], *path) for path in rest or [()]]
    if code[at : at + 1] != "{":
        return []
    paths, depth = _paths(code, at + 1), 0
    for place in range(at + 1, len(code)):
        depth += {"{": 1, "}": -1}.get(code[place], 0)
        if depth < 0:
            break
        if depth == 0 and code[place] == ",":
            paths += _paths(code, place + 1)
    return paths


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


@pytest.mark.parametrize("crate", LEVELS)
def test_modules_of_a_folder_stand_in_no_circle(crate: str) -> None:
    files = _files(crate)
    folders = {"", *(path.rpartition("/")[0] for path in files)}
    circles = {folder: circle(modules(files, folder)) for folder in folders}
    assert not {folder: result for folder, result in circles.items() if result}


@pytest.mark.parametrize("crate", sorted(set(LEVELS) - {"tools"}))
def test_where_docs_hold_no_code_none_is_looked_for(crate: str) -> None:
    """Looking takes rustdoc some seconds a crate: whoever writes an example turns it on again."""
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text())
    if manifest["lib"].get("doctest", True):
        return
    for path, text in _files(crate).items():
        fences = re.findall(r"^ *//[/!] ?```(.*)$", text, re.MULTILINE)
        assert set(fences[::2]) <= {"text"}, f"{path}: set doctest = true in crates/{crate}"


def test_every_unsafe_block_has_to_give_its_reason() -> None:
    """Clippy refuses one without a SAFETY comment, in each crate and in what lies beside them."""
    lint = "undocumented_unsafe_blocks"
    of_all = tomllib.loads((CRATES.parent / "Cargo.toml").read_text())["workspace"]["lints"]
    assert of_all["clippy"][lint] in {"warn", "deny"}
    for path in [*CRATES.glob("*/Cargo.toml"), CRATES.parent / "loom" / "Cargo.toml"]:
        lints = tomllib.loads(path.read_text())["lints"]
        own = lints.get("clippy", {}).get(lint)
        assert lints.get("workspace") or own in {"warn", "deny"}, path
    every = (path for at in (CRATES, CRATES.parent / "loom") for path in at.rglob("*.rs"))
    assert not [path for path in every if lint in path.read_text()], "one is let off"


def test_loom_is_given_all_that_it_names() -> None:
    """It is no member of the workspace, so no other build notices that a name has moved."""
    lib = (LOOM / "src/lib.rs").read_text()
    (part,) = re.findall(r'#\[path = "(.*)"\]', lib)
    border = (LOOM / "src" / part).read_text()
    using = border + "".join(path.read_text() for path in (LOOM / "tests").glob("*.rs"))
    paths = re.findall(r"use (?:crate|sojourn_loom)::([\w:]+);", using)
    assert len(paths) >= 3
    for path in paths:
        for name in path.split("::"):
            assert re.search(rf"\b(?:mod|struct) {name}\b", lib + border), path
