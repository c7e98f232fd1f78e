"""What this installation is: version, commit and features, without any program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sojourn import __version__, extras

COMMIT_FILE = Path(__file__).with_name("commit.txt")  # only a release has it
DIGITS = 12
#: Feature: the packages or the native program that it needs.
FEATURES = (
    ("report", (extras.PICTURES, extras.SQL)),
    ("trace", "sojourn-trace"),
    ("sched", "sojourn-sched"),
)


def line() -> str:
    """Such as `sojourn 0.2.0 (0af0dfbb1c2d; report, trace, sched)`."""
    return f"sojourn {__version__} ({commit() or 'unreleased'}; {', '.join(features()) or 'bare'})"


def features() -> tuple[str, ...]:
    """Those that this installation has: packages, and programs beside the interpreter."""
    return tuple(name for name, needs in FEATURES if _has(needs))


def _has(needs: str | tuple[str, ...]) -> bool:
    if isinstance(needs, str):
        return os.access(Path(sys.executable).with_name(needs), os.X_OK)
    return all(map(extras.is_here, needs))


def commit() -> str:
    """First digits of the commit that this was built from or is checked out; "" if unknown."""
    try:
        if COMMIT_FILE.exists():
            return COMMIT_FILE.read_text("ascii").strip()[:DIGITS]
        return _checked_out(Path(__file__).parents[2])[:DIGITS]
    except (OSError, ValueError):  # such as a checkout of another user
        return ""


def _checked_out(root: Path) -> str:
    """The commit of a checkout or worktree, by git's own files."""
    folder = root / ".git"
    if folder.is_file():  # of a worktree: a line that names its folder
        folder = root / folder.read_text("utf-8").partition("gitdir:")[2].strip()
    if not (root / "Cargo.toml").is_file() or not folder.is_dir():
        return ""
    head = (folder / "HEAD").read_text("utf-8").strip()
    name = head.partition("ref: ")[2]
    if not name:
        return head
    shared = folder / "commondir"
    common = folder / shared.read_text("utf-8").strip() if shared.is_file() else folder
    if (common / name).is_file():
        return (common / name).read_text("utf-8").strip()
    packed = (common / "packed-refs").read_text("utf-8").splitlines()
    return next((row.partition(" ")[0] for row in packed if row.endswith(f" {name}")), "")
