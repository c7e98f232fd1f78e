"""Stops processes for a while (SIGSTOP) and lets them go on, so that no one stays stopped.

    held = Held(book, "pid:4711")
    held.note(members)      in the book, before any of them is stopped for the first time
    held.stop() … held.go() … held.stop() … held.release()

A process is known by its number and its start, so one that got the number later is never signalled.
What was stopped before is somebody else's doing and is left as it is. `undo` lets go whom a dead
lab has left stopped.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn import disk
from sojourn.errors import HostFault, SpecFault
from sojourn.places import cgroups, proc
from sojourn.places.ledger import Book, Undone
from sojourn.places.proc import Stat

ENTRY = "stopped"
STOPPED = "Tt"  # states: by a signal, by a debugger
ROUNDS = 5  # of looking for members that were started while others were stopped
KERNEL_THREADS = 2  # kthreadd, the parent of all of them


class Held:
    """Somebody's processes, which are stopped and let go by turns."""

    def __init__(self, book: Book, name: str) -> None:
        """`book`: where it is noted; `name`: as `members` reads it."""
        self.name = name
        self._book = book
        self._members: dict[int, Stat] = {}
        self._entries: list[int] = []

    @property
    def pids(self) -> tuple[int, ...]:
        """Those that are known so far."""
        return tuple(self._members)

    def look(self) -> None:
        """Find who is meant now; who is new is in the book before anything is done to it."""
        selected = [s for s in members(self.name) if s.state not in STOPPED]
        fresh = [s for s in selected if self._members.get(s.pid) != _same(s)]
        if fresh:
            table = [{"pid": s.pid, "start_ticks": s.start_ticks} for s in fresh]
            self._entries.append(self._book.note(ENTRY, what=self.name, members=table))
            self._members |= {s.pid: _same(s) for s in fresh}

    def stop(self) -> None:
        """Stop all of them, those included that one of them starts meanwhile."""
        for _ in range(ROUNDS):
            known = set(self._members)
            for member in self._members.values():
                proc.send(member, signal.SIGSTOP)
            self.look()
            if set(self._members) == known:
                return

    def living(self, every: Mapping[int, Stat]) -> tuple[int, ...]:
        """Who is meant now, and who of those that were stopped lives; nothing is done to them.

        Args:
            every: all processes, as `everybody` reads them.
        """
        meant = {s.pid for s in _meant(self.name, every) if s.state not in STOPPED}
        known = {
            pid for pid, one in self._members.items() if pid in every and _same(every[pid]) == one
        }
        return tuple(sorted(meant | known))

    def go(self) -> None:
        """Let all of them go on."""
        for member in self._members.values():
            proc.send(member, signal.SIGCONT)

    def release(self) -> None:
        """Let all of them go on for good."""
        self.go()
        while self._entries:
            self._book.undone(self._entries.pop())


def _same(stat: Stat) -> Stat:
    """What names a process for good, and no more: its state and CPU time change."""
    return Stat(
        pid=stat.pid,
        name="",
        state="",
        parent=0,
        session=0,
        cpu_ns=0,
        start_ticks=stat.start_ticks,
    )


def everybody() -> dict[int, Stat]:
    """All processes that can be seen, by number, dead ones left out."""
    return {pid: one for pid, one in proc.everybody().items() if one.state != "Z"}


def members(name: str) -> tuple[Stat, ...]:
    """Processes that a name means now: `pid:N` with its children, `name:NAME`, `cgroup:PATH`."""
    return _meant(name, everybody())


def _meant(name: str, every: Mapping[int, Stat]) -> tuple[Stat, ...]:
    """Those among all processes that a name means."""
    kind, _, what = name.partition(":")
    if kind == "name":
        return tuple(s for s in every.values() if s.name == what and _is_ordinary(s))
    if kind == "cgroup":
        pids = _of_group(what)
        return tuple(s for pid, s in every.items() if pid in pids)
    return tuple(s for s in every.values() if int(what) in _line(s, every))


def _is_ordinary(stat: Stat) -> bool:
    return KERNEL_THREADS not in (stat.pid, stat.parent)


def _line(stat: Stat, every: Mapping[int, Stat]) -> set[int]:
    """A process and all that it comes of."""
    line: set[int] = set()
    now: Stat | None = stat
    while now is not None and now.pid not in line:
        line.add(now.pid)
        now = every.get(now.parent)
    return line


def _of_group(path: str) -> set[int]:
    """Processes of a control group and those below it, in whichever hierarchy it is."""
    numbers: set[int] = set()
    for mount in cgroups.mounts():
        top = mount / path.strip("/")
        if not path.strip("/") or not top.is_dir():
            continue
        for folder, _ in disk.tree.walk(top):
            numbers |= _pids(Path(folder, "cgroup.procs"))
    return numbers


def _pids(file: Path) -> set[int]:
    try:
        return set(map(int, file.read_text(encoding="ascii").split()))
    except (OSError, ValueError):
        return set()


def check(names: Iterable[str], *, at: str) -> None:
    """Refuse to stop who must not be stopped, or cannot be; nothing is stopped.

    Args:
        names: as `members` reads them.
        at: where they stand, for messages.

    Raises:
        SpecFault: the lab itself is among them, what it was started by, or the machine's own.
        HostFault: no one of that name runs, or they are another user's.
    """
    for name in names:
        stats = members(name)
        if not stats:
            raise HostFault(
                f"suspect '{name}' is not running", at=at, fix="see `ps -e`, or leave it out"
            )
        if bad := _must_run(stats):
            raise SpecFault(
                f"suspect '{name}' must not be stopped: {bad}",
                at=at,
                fix="name the processes that are meant more closely, such as pid:4711",
            )
        for member in stats:
            if not _may_signal(member.pid):
                raise HostFault(
                    f"suspect '{name}': process {member.pid} ({member.name}) is another user's",
                    at=at,
                    fix="run as root, or as that user",
                )


def _must_run(stats: Sequence[Stat]) -> str:
    """Who among them is needed for somebody to let them go again; "" if no one."""
    every = proc.everybody()
    me = every.get(os.getpid())
    needed = _line(me, every) if me else {os.getpid()}
    for member in stats:
        if member.pid in needed:
            return f"process {member.pid} ({member.name}) is the lab, or has started it"
        if member.pid == 1 or not _is_ordinary(member):
            return f"process {member.pid} ({member.name}) is the machine's own"
    return ""


def _may_signal(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True  # it has ended, and is no obstacle
    except PermissionError:
        return False
    return True


def _stops(stat: Stat) -> bool:
    """Whether it is stopped, or will be: one that waits for its child to exec is stopped later."""
    return stat.state in STOPPED or proc.is_pending(stat.pid, signal.SIGSTOP)


def undo(facts: Mapping[str, Any]) -> Undone | None:
    """Let go whom a dead lab left stopped; None where no one of them is."""
    left = []
    for table in facts["members"]:
        now = proc.stat(int(table["pid"]))
        if now and now.start_ticks == table["start_ticks"] and _stops(now):
            proc.send(now, signal.SIGCONT)
            left.append(now)
    if not left:
        return None
    named = ", ".join(str(member.pid) for member in left)
    return Undone(what=f"{facts['what']} ({named})", how="goes on again", is_done=True)
