"""Adds one more of every kind to a copy of the project, and says which files that touched.

Each folder beside this file is one kind. Its `add.toml` says which new files come from there and
which lines of a table change; `git diff --stat` of the copy says the rest. Adding one more is one
new file and a line in a table, with its import (of a question: a folder of files).
"""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
GENERATED = ("docs/reference/", "python/sojourn/schema/")  # by `make schema docs`


@dataclass(frozen=True, slots=True)
class Addition:
    """One more of a kind.

    Attributes:
        kind: name of its folder.
        files: (file in that folder, path in the project) of what is new.
        lines: (path in the project, words that stand there once, what they become) of its table.
    """

    kind: str
    files: tuple[tuple[Path, str], ...]
    lines: tuple[tuple[str, str, str], ...]


def additions() -> tuple[Addition, ...]:
    """All that can be added, by kind."""
    return tuple(_read(path.parent) for path in sorted(HERE.glob("*/add.toml")))


def _read(folder: Path) -> Addition:
    texts: dict[str, Any] = tomllib.loads((folder / "add.toml").read_text())
    return Addition(
        kind=folder.name,
        files=tuple((folder / name, to) for name, to in texts["files"].items()),
        lines=tuple((line["in"], line["find"], line["put"]) for line in texts["lines"]),
    )


def copy(to: Path) -> None:
    """A copy of what git knows of the project, work tree as written, with a history of one."""
    listed = _git(PROJECT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        source, target = PROJECT / name, to / name
        if source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    _git(to, "init", "-q")
    _git(to, "add", "-A")
    _git(to, *_IDENTITY, "commit", "-qm", "as it was")


def add(to: Path, wanted: Iterable[Addition]) -> None:
    """Add to a copy.

    Raises:
        ValueError: a file is there already, or words that were to stand there once do not.
    """
    for one in wanted:
        for source, name in one.files:
            if (to / name).exists():
                raise ValueError(f"{one.kind}: {name} is there already")
            (to / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(source, to / name)
        for name, find, put in one.lines:
            text = (to / name).read_text()
            if text.count(find) != 1:
                raise ValueError(f"{one.kind}: {name} has {text.count(find)} times '{find}'")
            (to / name).write_text(text.replace(find, put))


def touched(of: Path) -> dict[str, tuple[int, int]]:
    """(lines added, deleted) of each file of the copy that is not as it was."""
    _git(of, "add", "-A")
    changed = _git(of, "diff", "--cached", "--numstat").splitlines()
    rows = [line.split("\t") for line in changed]
    return {name: (int(added), int(deleted)) for added, deleted, name in rows}


def diff_stat(of: Path) -> str:
    """`git diff --stat` of the copy."""
    return _git(of, "diff", "--cached", "--stat=110")


_IDENTITY = ("-c", "user.name=add one more", "-c", "user.email=nobody@localhost")


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout
