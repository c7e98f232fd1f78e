"""Undo what labs that died left behind: their processes, working files and changed settings.

Safe to run at any time: the journal of a lab that still runs is left alone, and nothing is killed
or removed that is not certainly the dead lab's own. A process number alone proves nothing, numbers
are used again; so a process must also have started when the journal says, or belong to the session
that it opened.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sojourn import knobs, places
from sojourn.host.tree import Tree
from sojourn.knobs import settings
from sojourn.knobs.settings import Setting
from sojourn.places import halt, proc
from sojourn.places.ledger import Undo, Undone
from sojourn.run import journal, moving, work
from sojourn.run.journal import Entry, Left

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
        undone = _undone(left)
        done += [u for u in undone if u is not None]
        if all(u is None or u.is_done for u in undone):
            with contextlib.suppress(OSError):
                left.path.unlink(missing_ok=True)
    return tuple(done)


def _undone(left: Left) -> list[Undone | None]:
    """What became of each entry that can be undone; None: nothing of it is there.

    What was in the way of a newer entry may go with an older one, as a group does that was handed a
    controller. So what could not be undone is tried once more when all others were.
    """
    entries = [entry for entry in left.entries if entry.kind in UNDO]
    first = [UNDO[entry.kind](entry, left) for entry in entries]
    return [
        UNDO[entry.kind](entry, left) if undone and not undone.is_done else undone
        for entry, undone in zip(entries, first, strict=True)
    ]


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
    was_there = path.exists()
    is_done = work.undo(path)
    if not was_there or (is_done and path.exists()):
        return None  # it was never made, or is somebody else's
    how = "removed" if is_done else "cannot be removed: run as the user who owns it"
    return Undone(what=f"working files {path}", how=how, is_done=is_done)


def _settings(entry: Entry, left: Left) -> Undone | None:
    """What knobs have set, and CPUs that were cleared for a server; a new boot has its own."""
    if not left.is_of_this_boot:
        return None
    tree = Tree(Path(str(entry.facts["root"])))
    noted = [Setting.from_json(table) for table in entry.facts["settings"]]
    changed = [s for s in noted if s.old != s.new and settings.read(s, tree) == s.new]
    stuck = moving.restore(noted, int(entry.facts["at_ticks"]), tree)
    if not changed and not stuck:
        return None
    how = "back where they were"
    if stuck:
        how = f"{len(stuck)} cannot be put back: {stuck[0][0].what}: {stuck[0][1]}; run as root"
    return Undone(what=_names(changed), how=how, is_done=not stuck)


_SAID = (settings.TEXT, settings.CHOICE, settings.AUTOGROUP)  # of which each is named


def _names(changed: Sequence[Setting]) -> str:
    """What was found changed, in words."""
    texts = [s.what for s in changed if s.kind in _SAID]
    ordered = sum(s.kind == settings.POLICY for s in changed)
    moved = len(changed) - len(texts) - ordered
    counts = ((moved, "CPUs of {} tasks and interrupts"), (ordered, "scheduling of {} threads"))
    return ", ".join([*texts, *(text.format(count) for count, text in counts if count)])


def _of_this_boot(undo: Undo) -> Callable[[Entry, Left], Undone | None]:
    """What stands in memory is gone with the boot that it was made on."""
    return lambda entry, left: undo(entry.facts) if left.is_of_this_boot else None


#: How each kind of entry is undone; None: nothing was left of it. Places and knobs bring their own.
UNDO: Mapping[str, Callable[[Entry, Left], Undone | None]] = {
    "process": _process,
    "folder": _folder,
    "settings": _settings,
    halt.ENTRY: _of_this_boot(halt.undo),
    **{name: _of_this_boot(undo) for k in places.KINDS.values() for name, undo in k.undo.items()},
    **{name: _of_this_boot(undo) for k in knobs.KINDS.values() for name, undo in k.undo.items()},
}
