"""Fragments of the changelog: each is of a known type, short, and ends up in the changelog."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from importlib import util
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parent.parent
CHANGES = ROOT / "changes"
OTHERS = {"README.md", "template.md.j2"}
FRAGMENT = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\.([a-z]+)\.md")
tidy = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("tidy_test.py"))))


def types() -> dict[str, str]:
    """Types of fragments and the groups that they go into, in the order of groups."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
    return {one["directory"]: one["name"] for one in table}


def flaws(name: str, text: str) -> list[str]:
    """What is wrong with a fragment; none: it is right."""
    match = FRAGMENT.fullmatch(name)
    out = [] if match and match[1] in types() else [f"no NAME.TYPE.md, TYPE of {list(types())}"]
    if not text.strip() or text.lstrip().startswith(("-", "*", "#")):
        out.append("no sentence")
    long = [one for one in tidy.sentences(text) if tidy.words(one) > tidy.WORDS_MAX]
    wide = [line for line in text.splitlines() if len(line) > tidy.LINE_MAX]
    return out + [f"too long: {one[:60]}" for one in (*long, *wide)]


def test_the_groups_are_the_changelogs_own_and_the_page_names_them() -> None:
    assert list(types().values()) == ["Fixed numbers", "Security", "Added", "Changed", "Fixed"]
    page = (CHANGES / "README.md").read_text()
    assert all(f"| `{name}` | {group} |" in page for name, group in types().items())


def test_every_fragment_is_of_a_known_type_and_short() -> None:
    files = [path for path in CHANGES.iterdir() if path.name not in OTHERS]
    assert {path.name: flaws(path.name, path.read_text()) for path in files} == {
        path.name: [] for path in files
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p99.numbers.md", "p99 was too low since May. It is right now.\n", ""),
        ("p99.number.md", "p99 was too low.\n", "no NAME.TYPE.md"),
        ("p99.md", "p99 was too low.\n", "no NAME.TYPE.md"),
        ("P 99.fixed.md", "p99 was too low.\n", "no NAME.TYPE.md"),
        ("p99.fixed.md", " \n", "no sentence"),
        ("p99.fixed.md", "- p99 was too low.\n", "no sentence"),
        ("p99.fixed.md", f"{'word ' * 26}.\n", "too long"),
        ("p99.fixed.md", f"{'word ' * 25}.\n", "too long"),  # the line
        ("p99.fixed.md", f"{'word ' * 20}.\n", ""),
    ],
)
def test_what_is_no_fragment_is_named(name: str, text: str, message: str) -> None:
    result = flaws(name, text)
    assert bool(result) == bool(message)
    assert message in " ".join(result)


def test_a_release_puts_fragments_above_all_that_was_there(tmp_path: Path) -> None:
    if util.find_spec("towncrier") is None:
        pytest.skip("needs towncrier: scripts/setup --python")
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    folder = tmp_path / "changes"
    folder.mkdir()
    for name in OTHERS:
        shutil.copy(CHANGES / name, folder / name)
    for kind, group in types().items():
        (folder / f"one.{kind}.md").write_text(f"This is of the group {group}.\n")
    before = (tmp_path / "CHANGELOG.md").read_text()
    words = ["build", "--yes", "--version", "9.9.9", "--date", "2027-01-02"]
    subprocess.run([sys.executable, "-m", "towncrier", *words], cwd=tmp_path, check=True)
    after = (tmp_path / "CHANGELOG.md").read_text()
    head, mark, rest = before.partition("## Unreleased\n")
    assert mark
    assert after.startswith(f"{head}{mark}\n## 9.9.9 (2027-01-02)\n\n### Fixed numbers\n\n")
    assert after.endswith(rest.lstrip("\n"))
    places = [after.index(f"### {g}\n\n- This is of the group {g}.\n") for g in types().values()]
    assert places == sorted(places)
    assert {path.name for path in folder.iterdir()} == OTHERS
