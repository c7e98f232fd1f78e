"""Undo what labs that died left behind: their processes and their working files.

Safe to run at any time: the journal of a lab that still runs is left alone, and nothing is killed
or removed that is not certainly the dead lab's own. A process number alone proves nothing, numbers
are used again; so a process must also have started when the journal says, or belong to the session
that it opened.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn.run import journal
from sojourn.run.journal import Entry, Left
from sojourn.run.work import MARK, PREFIX
from sojourn.services import proc
from sojourn.services.proc import Stat

GONE_S_MAX = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What was found of a dead lab and what became of it. `is_done`: nothing is left of it."""

    what: str
    how: str
    is_done: bool


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
    found = members(pid, int(entry.facts["start_ticks"])) if left.is_of_this_boot else ()
    if not found:
        return None
    for member in found:
        kill(member)
    end = time.monotonic() + GONE_S_MAX
    while any(is_alive(member) for member in found) and time.monotonic() < end:
        time.sleep(0.01)
    is_done = not any(is_alive(member) for member in found)
    names = f"{what} ({', '.join(str(member.pid) for member in found)})"
    how = "killed" if is_done else "cannot be killed: it hangs in the kernel"
    return Undone(what=names, how=how, is_done=is_done)


def members(leader: int, start_ticks: int) -> tuple[Stat, ...]:
    """What is left of a session that a process opened which started at `start_ticks`.

    While a session has members, the kernel gives its number to no other process. So if the number
    belongs to a process that started at another time, the session is gone and the number was used
    again. If there is no such process, what is in the session must have started later and bear the
    number as its session.
    """
    now = proc.stat(leader)
    if now is not None and now.start_ticks != start_ticks:
        return ()
    return tuple(m for m in proc.session(leader) if m.start_ticks >= start_ticks)


def kill(member: Stat) -> None:
    """Kill a process and no other: through a handle, checked after it was opened."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        handle = os.pidfd_open(member.pid)
        try:
            if is_alive(member):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)


def is_alive(member: Stat) -> bool:
    """Whether it is still the same process, and not only its remains."""
    now = proc.stat(member.pid)
    return now is not None and now.start_ticks == member.start_ticks and now.state != "Z"


def _folder(entry: Entry, left: Left) -> Undone | None:
    del left
    path = Path(str(entry.facts["path"]))
    if path.is_symlink() or not path.name.startswith(PREFIX) or not (path / MARK).is_file():
        return None
    shutil.rmtree(path, ignore_errors=True)
    is_done = not path.exists()
    how = "removed" if is_done else "cannot be removed: run as the user who owns it"
    return Undone(what=f"working files {path}", how=how, is_done=is_done)


#: How each kind of entry is undone; None: nothing was left of it.
UNDO: Mapping[str, Callable[[Entry, Left], Undone | None]] = {
    "process": _process,
    "folder": _folder,
}
