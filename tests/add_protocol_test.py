"""One more protocol: one file, and its lines in the table; nothing else changes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PIECES = ROOT / "tests" / "add_one_more" / "protocol"
PROTOCOLS = Path("crates/load/src/protocols")


def added(tree: Path) -> list[Path]:
    """Adds the dummy to a copy of the tree.

    Args:
        tree: root of the copy.

    Returns:
        What was changed, below `tree`.
    """
    file, table = PROTOCOLS / "dummy.rs", PROTOCOLS / "mod.rs"
    shutil.copy(PIECES / "dummy.rs", tree / file)
    text = (tree / table).read_text()
    assert [text.count(place) for place in ("pub mod echo;", "null::KIND]")] == [1, 1]
    text = text.replace("pub mod echo;", "mod dummy;\npub mod echo;")
    (tree / table).write_text(text.replace("null::KIND]", "null::KIND, dummy::KIND]"))
    return [file, table]


@pytest.mark.timeout(900)
def test_a_protocol_with_operation_option_and_greeting_is_one_file(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    names = ["Cargo.*", "rust-toolchain.toml", "clippy.toml", "crates"]
    for file in _git("ls-files", "--cached", "--others", "--exclude-standard", "--", *names):
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, tree / file)
    added(tree)
    check = subprocess.run(
        ["cargo", "check", "--release", "--locked", "--quiet", "-p", "sojourn-load", "--tests"],
        cwd=tree,
        env={"CARGO_TARGET_DIR": str(ROOT / "target"), **os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stderr[-3000:]
    stat = _git("diff", "--no-index", "--name-only", "crates", str(tree / "crates"))
    assert sorted(Path(line).name for line in stat) == ["dummy.rs", "mod.rs"]


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split()
