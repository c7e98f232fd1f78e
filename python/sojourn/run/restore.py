"""Undo what labs that died left behind: their processes, working files and changed settings.

Safe to run at any time: the journal of a lab that still runs is left alone, and nothing is killed
or removed that is not certainly the dead lab's own. A process number alone proves nothing, numbers
are used again; so a process must also have started when the journal says, or belong to the session
that it opened.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from sojourn import places
from sojourn.host.tree import Tree
from sojourn.places import proc
from sojourn.places.ledger import Undo, Undone
from sojourn.run import journal, moving, settings
from sojourn.run.journal import Entry, Left
from sojourn.run.settings import Setting
from sojourn.run.work import MARK, PREFIX

GONE_S_MAX = 5.0


def restore(folder: Path | None = None) -> tuple[Undone, ...]:
    """Undo everything that dead labs have left, newest first.

    Returns:
        What was found; empty if nothing was left.
    """
    done: list[Undone] = []
    for left in journal.read(folder or journal.state_folder()):
        if left.is_in_use:
            continue
        undone = [UNDO[e.kind](e, left) for e in left.entries if e.kind in UNDO]
        done += [u for u in undone if u is not None]
        if all(u is None or u.is_done for u in undone):
            with contextlib.suppress(OSError):
                left.path.unlink(missing_ok=True)
    return tuple(done)


def _process(entry: Entry, left: Left) -> Undone | None:
    what, pid = str(entry.facts["what"]), int(entry.facts["pid"])
    found = proc.members(pid, int(entry.facts["start_ticks"])) if left.is_of_this_boot else ()
    if not found:
        return None
    is_done = proc.end(found, within_s=GONE_S_MAX)
    names = f"{what} ({', '.join(str(member.pid) for member in found)})"
    how = "killed" if is_done else "cannot be killed: it hangs in the kernel"
    return Undone(what=names, how=how, is_done=is_done)


def _folder(entry: Entry, left: Left) -> Undone | None:
    del left
    path = Path(str(entry.facts["path"]))
    if path.is_symlink() or not path.name.startswith(PREFIX) or not (path / MARK).is_file():
        return None
    shutil.rmtree(path, ignore_errors=True)
    is_done = not path.exists()
    how = "removed" if is_done else "cannot be removed: run as the user who owns it"
    return Undone(what=f"working files {path}", how=how, is_done=is_done)


def _settings(entry: Entry, left: Left) -> Undone | None:
    """CPUs that tasks and interrupts were moved off for a server's sake; a new boot has its own."""
    if not left.is_of_this_boot:
        return None
    tree = Tree(Path(str(entry.facts["root"])))
    moved = [Setting.from_json(table) for table in entry.facts["settings"]]
    changed = [setting for setting in moved if settings.read(setting, tree) == setting.new]
    stuck = moving.restore(moved, int(entry.facts["at_ticks"]), tree)
    if not changed and not stuck:
        return None
    how = "back where they were"
    if stuck:
        how = f"{len(stuck)} cannot be put back: {stuck[0][0].what}: {stuck[0][1]}; run as root"
    return Undone(what=f"CPUs of {len(changed)} tasks and interrupts", how=how, is_done=not stuck)


def _of_this_boot(undo: Undo) -> Callable[[Entry, Left], Undone | None]:
    """What stands in memory is gone with the boot that it was made on."""
    return lambda entry, left: undo(entry.facts) if left.is_of_this_boot else None


#: How each kind of entry is undone; None: nothing was left of it. Places bring their own.
UNDO: Mapping[str, Callable[[Entry, Left], Undone | None]] = {
    "process": _process,
    "folder": _folder,
    "settings": _settings,
    **{name: _of_this_boot(undo) for k in places.KINDS.values() for name, undo in k.undo.items()},
}
