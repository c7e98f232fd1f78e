"""Which processes are the service: the session of its first one, and all that come of them.

All of /proc is looked through once, and then so seldom that it costs next to nothing; in between
the kernel's list of each thread's children reports new ones. A number that was given to another
process is noticed by the time at which that started.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sojourn.host.tree import Tree
from sojourn.host.usage import files
from sojourn.host.usage.files import Source
from sojourn.host.usage.recorded import Recorded

SEARCH_SHARE = 1 / 1000  # of the time; to look through all of /proc costs milliseconds
PARENT, SESSION, START = 1, 3, 19  # fields of /proc/PID/stat after the name, proc(5)


@dataclass(frozen=True, slots=True)
class Member:
    """One process: the fields of its `stat` after the name, and its threads."""

    fields: list[bytes]
    tids: tuple[int, ...]

    @property
    def start(self) -> int:
        """When it started, ticks after boot; with its number it names a process for good."""
        return int(self.fields[START])


@dataclass(slots=True)
class Members:
    """The processes of one service.

    Attributes:
        leader: its first process, which opened the session.
        clock: CPU time of the caller, s: what a search cost.
    """

    tree: Tree | Recorded
    leader: int
    clock: Callable[[], float] = time.thread_time
    _known: dict[int, int] = field(default_factory=dict)  # process → start, ticks
    _next_search_s: float | None = None

    def look(self, now_s: float) -> Mapping[int, Member]:
        """Those that live now, by number; none if all have ended.

        Args:
            now_s: the time, s, of any clock that goes on evenly.
        """
        read = files.of(self.tree)
        members: dict[int, Member] = {}
        for pid, start in self._known.items():
            _add(read, members, pid, start)
        if self._next_search_s is None or now_s >= self._next_search_s:
            began_s = self.clock()
            for pid in self._search(read, set(members)):
                _add(read, members, pid)
            self._next_search_s = now_s + (self.clock() - began_s) / SEARCH_SHARE
        _add_children(read, members)
        self._known = {pid: member.start for pid, member in members.items()}
        return members

    def _search(self, read: Source, known: set[int]) -> set[int]:
        """All of the session, and what came of them and of known ones, that is not known yet."""
        stats = {
            int(name): contents
            for name in read.names("/proc")
            if name.isdigit() and len(contents := read.fields(f"/proc/{name}/stat")) > START
        }
        own = known | {p for p, of in stats.items() if int(of[SESSION]) == self.leader}
        own |= {self.leader}
        grew = True
        while grew:
            fresh = {p for p, of in stats.items() if int(of[PARENT]) in own} - own
            own |= fresh
            grew = bool(fresh)
        return own - known


def _add(read: Source, members: dict[int, Member], pid: int, start: int | None = None) -> bool:
    """Add a process that lives, and that started then, if that is known."""
    of = read.fields(f"/proc/{pid}/stat")
    if len(of) <= START or (start is not None and int(of[START]) != start):
        return False
    members[pid] = Member(of, tuple(map(int, read.names(f"/proc/{pid}/task"))))
    return True


def _add_children(read: Source, members: dict[int, Member]) -> None:
    """Those that known ones have started since, where the kernel lists them."""
    new = list(members)
    while new:
        pid = new.pop()
        for tid in members[pid].tids:
            text = read.read(f"/proc/{pid}/task/{tid}/children")
            children = [child for child in map(int, text.split()) if child not in members]
            new += [child for child in children if _add(read, members, child)]
