"""Undo what labs that died left behind: their processes, working files and changed settings.

Safe to run at any time: the journal of a lab that still runs is left alone, and nothing is killed
or removed that is not certainly the dead lab's own. A process number alone proves nothing, numbers
are used again; so a process must also have started when the journal says, or belong to the session
that it opened.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from sojourn import knobs, places
from sojourn.host.tree import Tree
from sojourn.knobs import known, settings
from sojourn.knobs.settings import Setting
from sojourn.places import halt, proc
from sojourn.places.ledger import WARDEN, Undo, Undone
from sojourn.run import left, moving, state, work
from sojourn.run.left import Entry, Left

GONE_S_MAX = 5.0
MACHINE = Tree()


def restore(folder: Path | None = None, tree: Tree = MACHINE) -> tuple[Undone, ...]:
    """Undo everything that dead labs have left, newest first.

    Args:
        folder: of the journals; None: the user's own.
        tree: the machine; an entry about another one is passed over.

    Returns:
        What was found, and what was passed over; empty if nothing was left.

    Raises:
        RunFault: others may put files into the folder.
    """
    done: list[Undone] = []
    for path in left.paths(folder or state.state_folder()):
        with left.held(path) as one:
            if one is None or one.is_in_use:
                continue
            undone = [*_undone(one, tree), *_passed_over(one)]
            done += [u for u in undone if u is not None]
            if all(u is None or u.is_done for u in undone):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
    return tuple(done)


def _undone(result: Left, tree: Tree) -> list[Undone | None]:
    """What became of each entry; None: nothing of it is there.

    What was in the way of a newer entry may go with an older one, as a group does that was handed a
    controller. So what could not be undone is tried once more when all others were. Wardens
    end first, because a late one would write its caps after the old limits were put back.
    """
    entries = sorted(result.entries, key=lambda entry: entry.kind != WARDEN)
    first = [_one(entry, result, tree) for entry in entries]
    return [
        _one(entry, result, tree) if undone and not undone.is_done else undone
        for entry, undone in zip(entries, first, strict=True)
    ]


def _one(entry: Entry, result: Left, tree: Tree) -> Undone | None:
    """What became of one entry; one that no lab of this version writes is passed over."""
    known_kinds = undos()
    try:
        if entry.kind not in known_kinds:
            raise ValueError("its kind is unknown")  # noqa: TRY301
        if entry.facts.get("root", str(tree.root)) != str(tree.root):
            raise ValueError("it is about another machine")  # noqa: TRY301
        return known_kinds[entry.kind](entry, result)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        return _passed(result, f"entry {entry.number}, '{entry.kind}': {error}")
    except OSError as error:  # a sandbox may refuse even to look; others are undone all the same
        what = f"entry {entry.number}, '{entry.kind}', of journal {result.path}"
        how = f"cannot be undone here: {error.strerror or error}"
        return Undone(what=what, how=how, is_done=False)


def _passed_over(result: Left) -> list[Undone]:
    return [_passed(result, why) for why in result.bad]


def _passed(result: Left, why: str) -> Undone:
    """What was not obeyed stays in the file, until somebody has looked at it."""
    how = f"passed over: {why}; see who wrote it, then remove the file"
    return Undone(what=f"journal {result.path}", how=how, is_done=False)


def _process(entry: Entry, result: Left) -> Undone | None:
    what, pid = str(entry.facts["what"]), _whole(entry.facts["pid"])
    ticks = _whole(entry.facts["start_ticks"])
    if pid <= 1 or ticks < 0:
        raise ValueError(f"no lab can have started process {pid} at {ticks}")
    if not result.is_of_these_processes:
        return _in_another_container(f"{what} ({pid})", result)
    members = proc.members(pid, ticks)
    if not members:
        return None
    is_done = proc.end(members, within_s=GONE_S_MAX)
    names = f"{what} ({', '.join(str(member.pid) for member in members)})"
    how = "killed" if is_done else "cannot be killed: it hangs in the kernel"
    return Undone(what=names, how=how, is_done=is_done)


def _warden(entry: Entry, result: Left) -> Undone | None:
    """Without its manager it ends by itself within seconds, so none is left elsewhere."""
    return _process(entry, result) if result.is_of_these_processes else None


def _in_another_container(what: str, result: Left) -> Undone | None:
    """None where it has ended: a container's processes end with it."""
    if not (result.is_of_this_boot and result.numbers.is_seen()):
        return None
    how = "left alone: it is in another container; run `sojourn restore` there"
    return Undone(what=what, how=how, is_done=False)


def _whole(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _folder(entry: Entry, result: Left) -> Undone | None:
    del result
    path = Path(str(entry.facts["path"]))
    if not path.is_absolute():
        raise ValueError(f"'{path}' is not a whole path")
    was_there = path.exists()
    is_done = work.undo(path)
    if not was_there or (is_done and path.exists()):
        return None  # it was never made, or is somebody else's
    how = "removed" if is_done else "cannot be removed: run as the user who owns it"
    return Undone(what=f"working files {path}", how=how, is_done=is_done)


def _settings(entry: Entry, result: Left) -> Undone | None:
    """What knobs have set, and CPUs that were cleared for a server; a new boot has its own."""
    if not result.is_of_this_boot:
        return None
    tree = Tree(Path(str(entry.facts["root"])))
    noted = [Setting.from_json(table) for table in entry.facts["settings"]]
    if not result.is_of_these_processes:
        noted = [setting for setting in noted if not setting.pid]
    for path in filter(None, (setting.path for setting in noted)):
        known.check(path, tree)
    changed = [s for s in noted if s.old != s.new and settings.read(s, tree) == s.new]
    stuck = moving.restore(noted, int(entry.facts["at_ticks"]), tree)
    if not changed and not stuck:
        return None
    how = "back where they were"
    if stuck:
        how = f"{len(stuck)} cannot be put back: {stuck[0][0].what}: {stuck[0][1]}; run as root"
    return Undone(what=_names(changed), how=how, is_done=not stuck)


_COUNTED = (settings.FILE, settings.AFFINITY, settings.POLICY)  # of which there may be thousands


def _names(changed: Sequence[Setting]) -> str:
    """What was found changed, in words."""
    texts = [s.what for s in changed if s.kind not in _COUNTED]
    ordered = sum(s.kind == settings.POLICY for s in changed)
    moved = len(changed) - len(texts) - ordered
    counts = ((moved, "CPUs of {} tasks and interrupts"), (ordered, "scheduling of {} threads"))
    return ", ".join([*texts, *(text.format(count) for count, text in counts if count)])


def _of_this_boot(undo: Undo) -> Callable[[Entry, Left], Undone | None]:
    """What is in memory is gone with the boot that it was made on."""
    return lambda entry, result: undo(entry.facts) if result.is_of_this_boot else None


def _stopped(entry: Entry, result: Left) -> Undone | None:
    """A stopped process goes on; of another container none is signalled."""
    return halt.undo(entry.facts) if result.is_of_these_processes else None


@cache
def undos() -> Mapping[str, Callable[[Entry, Left], Undone | None]]:
    """How each kind of entry is undone. Places and knobs bring their own, and all are loaded."""
    from sojourn.places import podman  # noqa: PLC0415 - who only checks a study undoes nothing

    own = [kind.undo for kind in places.KINDS.values()]
    own += [kind.undo for kind in knobs.KINDS.values()]
    return {
        "process": _process,
        "folder": _folder,
        "settings": _settings,
        podman.ENTRY: lambda entry, _: podman.undo(entry.facts),  # on a disk, not in memory
        halt.ENTRY: _stopped,
        WARDEN: _warden,
        **{name: _of_this_boot(undo) for table in own for name, undo in table.items()},
    }
