"""The copy of the tree in which the code is broken, so that a build of the tree itself never is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def copied(root: Path, tree: Path) -> None:
    """Make the copy like the original; what did not change keeps its time, so cargo builds little.

    Args:
        root: a git work tree; its ignored files (target, .venv, results) are left out.
        tree: the copy, as it was left the last time, or nothing yet.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    names = {name for name in listed.stdout.split("\0") if name and (root / name).is_file()}
    path = tree / ".mutants"
    for name in set(path.read_text().split("\0") if path.exists() else []) - names:
        (tree / name).unlink(missing_ok=True)
    for name in names:
        here, there = root / name, tree / name
        if there.exists() and there.read_bytes() == here.read_bytes():
            continue
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(here, there)  # with the time of now: cargo must see that it changed
    path.write_text("\0".join(sorted(names)))
