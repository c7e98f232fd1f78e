"""What a change touches: crates and those that stand on them, Python tests by how near they are.

`scripts/quick` runs it. Nothing here starts a test: lists go in, lists come out.
"""

from __future__ import annotations

import subprocess
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

PACKAGE = "python/sojourn/"
SUFFIX = "_test.py"
EVERYWHERE = 2  # arrows: of a test that looks through all files
UNKNOWN_S = 3.0  # a file of tests whose time is not recorded yet
#: Whatever is built of crates depends on these.
OF_ALL_CRATES = ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml")
#: What cargo's checks read beside the crates: `check-rust`. All else may matter to `check-python`.
OF_RUST = (*OF_ALL_CRATES, "clippy.toml", "rustfmt.toml")


def changed(root: Path, base: str) -> list[str]:
    """Files that differ from where this branch left `base`, committed or not, and new ones."""

    def git(*words: str) -> list[str]:
        done = subprocess.run(
            ["git", "-C", root, *words], capture_output=True, text=True, check=False
        )
        return done.stdout.splitlines() if done.returncode == 0 else []

    left = git("merge-base", "HEAD", base) or ["HEAD"]
    new = git("ls-files", "--others", "--exclude-standard")
    return sorted({*git("diff", "--name-only", "--no-renames", left[0]), *new})


def below(root: Path) -> dict[str, set[str]]:
    """By crate, its folder's name: the crates of this workspace that its manifest names."""
    results = {}
    for path in sorted(root.glob("crates/*/Cargo.toml")):
        manifest = tomllib.loads(path.read_text())
        tables = (manifest.get(key, {}) for key in ("dependencies", "dev-dependencies"))
        names = {name for table in tables for name in table if name.startswith("sojourn-")}
        results[path.parent.name] = {name.removeprefix("sojourn-") for name in names}
    return results


def crates(paths: Iterable[str], stored_on: Mapping[str, set[str]]) -> dict[str, bool]:
    """Crates to test: whether each has changed itself, or only is on one that has.

    >>> crates(["crates/b/src/lib.rs"], {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"c"}})
    {'b': True, 'c': False, 'd': False}
    >>> crates(["Cargo.lock", "README.md"], {"a": set(), "b": {"a"}})
    {'a': True, 'b': True}
    """
    paths = list(paths)
    if any(path in OF_ALL_CRATES for path in paths):
        return dict.fromkeys(stored_on, True)
    named = {path.split("/")[1] for path in paths if path.startswith("crates/")}
    own = [name for name in stored_on if name in named]
    touched, fresh = set(own), set(own)
    while fresh:
        fresh = {name for name, under in stored_on.items() if under & fresh} - touched
        touched |= fresh
    return {name: name in own for name in stored_on if name in touched}


def checks(paths: Iterable[str]) -> list[str]:
    """The halves of `make check` that a change can make fail.

    Options and descriptions of the programs are in the docs, so a crate's change is held against
    these as well.

    >>> checks(["crates/load/src/lib.rs"]), checks(["python/sojourn/units.py", "README.md"])
    (['check-rust', 'check-python'], ['check-python'])
    >>> checks(["rustfmt.toml"])
    ['check-rust', 'check-python']
    """
    is_rust = any(path.startswith("crates/") or path in OF_RUST for path in paths)
    return ["check-rust", "check-python"] if is_rust else ["check-python"]


def module_of(path: str, modules: Iterable[str]) -> str:
    """The module that a file of the package is, or the package that it lies in; "": of no package.

    >>> known = {"sojourn", "sojourn.plan", "sojourn.plan.point"}
    >>> [module_of(f"python/sojourn/plan/{name}", known) for name in ("point.py", "gone.py")]
    ['sojourn.plan.point', 'sojourn.plan']
    >>> module_of("docs/method.md", known)
    ''
    """
    if not path.startswith(PACKAGE):
        return ""
    known = set(modules)
    name = path.removeprefix("python/").removesuffix(".py").removesuffix("/__init__")
    name = name.replace("/", ".")
    while name not in known and "." in name:
        name = name.rpartition(".")[0]
    return name


def distances(start: Iterable[str], importers: Callable[[str], Iterable[str]]) -> dict[str, int]:
    """By module, over how many imports it comes to one of `start`; these themselves: 0.

    >>> distances(["a"], {"a": ["b"], "b": ["c"], "c": ["a"]}.__getitem__)
    {'a': 0, 'b': 1, 'c': 2}
    """
    numbers = dict.fromkeys(start, 0)
    fresh = list(numbers)
    while fresh:
        at = fresh.pop(0)
        for one in sorted(importers(at)):
            if one not in numbers:
                numbers[one] = numbers[at] + 1
                fresh.append(one)
    return numbers


def tests(
    paths: Sequence[str], far: Mapping[str, int], beside: Mapping[str, str]
) -> dict[str, int]:
    """Files to hand to pytest, with their distance from the change.

    Args:
        paths: what changed.
        far: by module of the package, its distance (`distances`).
        beside: by path, the text of the tests that are in no package. They are near if they name
            what changed or have its name, and next if they look through all files.
    """
    numbers = {path: 0 for path in paths if path in beside}
    for module, distance in far.items():
        path = f"python/{module.replace('.', '/')}.py"
        is_test = path.endswith(SUFFIX)
        if is_test or (distance == 0 and path in paths):  # a module itself for its doctests
            numbers[path] = distance
    names = {Path(path).name for path in paths} | {Path(path).stem for path in paths}
    for path, text in beside.items():
        is_near = Path(path).name.removesuffix(SUFFIX) in names or any(
            f'"{name}"' in text or f"/{name}" in text for name in names
        )
        if is_near or "rglob(" in text:
            numbers.setdefault(path, 1 if is_near else EVERYWHERE)
    return numbers


def recorded_s(report: Path) -> dict[str, float]:
    """Seconds of each file of tests as pytest wrote them (`--junitxml`); empty if it did not."""
    try:
        cases = ET.parse(report).iter("testcase")  # noqa: S314 - written by `make python`
    except (OSError, ET.ParseError):
        return {}
    results: dict[str, float] = {}
    for case in cases:
        path = f"{case.get('classname', '').replace('.', '/')}.py"
        results[path] = results.get(path, 0.0) + float(case.get("time", 0.0))
    return results


def chosen(
    near: Mapping[str, int], cost_s: Mapping[str, float], most_s: float
) -> tuple[list[str], list[str]]:
    """The nearest, among these the shortest, that fit into the time; and those that do not.

    >>> chosen({"a": 2, "b": 1, "c": 2, "d": 3}, {"a": 5.0, "b": 4.0, "c": 1.0, "d": 1.0}, 6.0)
    (['b', 'c', 'd'], ['a'])
    """
    taken, left, sum_s = [], [], 0.0
    order = sorted(near, key=lambda path: (near[path], cost_s.get(path, UNKNOWN_S), path))
    for path in order:
        one_s = cost_s.get(path, UNKNOWN_S)
        if sum_s + one_s <= most_s or near[path] == 0:
            taken.append(path)
            sum_s += one_s
        else:
            left.append(path)
    return taken, left
