"""Containers that podman makes of images and never starts; none of them is left.

The name of one is drawn by lot and noted before podman hears it, so `restore` knows it for the
lab's own. Podman stores it on a disk: unlike most of what a lab makes, it outlives a boot.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sojourn import programs
from sojourn.errors import Fault
from sojourn.places import ledger, remains
from sojourn.places.ledger import Undone
from sojourn.visible import in_line

PODMAN = "podman"
ENTRY = "podman container"  # kind of entry in the book
REMOVE_S_MAX = 60.0


@contextmanager
def noted() -> Iterator[str]:
    """The name for a container of the block's own; what has that name is removed after the block.

    What podman does not remove stays in the book, so that `restore` tries again.
    """
    name, book = remains.name(), ledger.own()
    entry = book.note(ENTRY, name=name) if book is not None else 0
    try:
        yield name
    finally:
        why = _remove(name)
        if not why and book is not None:
            book.undone(entry)


def _remove(name: str) -> str:
    """Remove what has this name, if anything has; why that failed, "" if it did not."""
    status, text = _asked("rm", "-f", "--ignore", "--", name)
    return text if status else ""


def _asked(*words: str) -> tuple[int, str]:
    """How podman ends, and the last line of what it says then; 125 if it is not there."""
    try:
        program = programs.find(PODMAN, fix="apt install podman")
        # fmt: off
        done = subprocess.run(
            [program, *words], capture_output=True, text=True, errors="replace",
            timeout=REMOVE_S_MAX, check=False, stdin=subprocess.DEVNULL,
        )
        # fmt: on
    except Fault as fault:
        return 125, fault.what
    except (OSError, subprocess.TimeoutExpired) as error:
        return 125, in_line(str(error))
    lines = done.stderr.strip().splitlines()
    return done.returncode, in_line(lines[-1]) if lines else f"podman ends with {done.returncode}"


def undo(facts: Mapping[str, Any]) -> Undone | None:
    """Remove a container that a lab noted, if it was made."""
    name = str(facts["name"])
    if not re.fullmatch(remains.NAME, name):
        return None
    if _asked("container", "exists", "--", name)[0] == 1:
        return None
    why = _remove(name)
    how = f"cannot be removed: {why}" if why else "removed"
    return Undone(what=f"podman's container {name}", how=how, is_done=not why)
