"""Version 2: controllers that a group hands on to those below it."""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sojourn.host.tree import Tree
from sojourn.knobs import known
from sojourn.knobs.knob import Turned
from sojourn.places.ledger import Undone

PREFIX = "sojourn-"  # of the lab's own groups
ENTRY = "cgroup"  # kind of the book's entry
KEY = "handed"  # in such an entry, and what a service's knobs share: a controller, and where
#: Writes a file of the kernel; OSError if it refuses.
Write: TypeAlias = Callable[[Tree, str, str], None]


def hand_on(on: Turned, parent: str, controller: str, write: Write) -> None:
    """Let a group hand a controller on to those below it, noted before; OSError if refused."""
    path = f"{parent}/cgroup.subtree_control"
    if controller in (on.tree.text(path) or "").split():
        return
    root = str(on.tree.root)
    entry = on.book.note(ENTRY, folder="", home="", root=root, handed=[path, controller])
    on.shared.setdefault(KEY, []).append((entry, path, controller))
    write(on.tree, path, f"+{controller}")


def take_back(on: Turned, write: Write) -> None:
    """Hand on no more than before; what a group of any lab needs is tried again at the next one."""
    left = []
    for entry, path, controller in on.shared.pop(KEY, []):
        if _unhand(on.tree, path, controller, write):
            left.append((entry, path, controller))
        else:
            on.book.undone(entry)
    if left:
        on.shared[KEY] = left


def undo(facts: Mapping[str, Any], tree: Tree, write: Write) -> Undone | None:
    """Take a controller back that a lab noted, if it was handed on; None: it was not."""
    path, controller = map(str, facts[KEY])
    known.check(path, tree)
    if controller not in (tree.text(path) or "").split():
        return None
    why = _unhand(tree, path, controller, write)
    what = f"controller {controller} in {path}"
    return Undone(what=what, how=why or "taken back", is_done=not why)


def _unhand(tree: Tree, path: str, controller: str, write: Write) -> str:
    """Take a controller back that was handed on; "" if it is not the lab's any more, else why not.

    The kernel takes it from groups that use it as well, so those of labs that run are looked for.
    It refuses where a group hands it on itself: somebody else wants it by now, and may keep it.
    """
    if any(name.startswith(PREFIX) for name in tree.names(posixpath.dirname(path))):
        return "a lab that runs needs it"
    if controller in (tree.text(path) or "").split():
        with contextlib.suppress(OSError):
            write(tree, path, f"-{controller}")
    return ""
