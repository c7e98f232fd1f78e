"""Where processes go back to that were moved into a group of the lab's own.

What a service has started may be in other groups than its first process. So each process that is
moved is noted with its own group, by number and start. Where all were in one group, the entry of
the lab's group has that already. A process that was started later goes to the group of its nearest
noted parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from sojourn.places import proc
from sojourn.places.ledger import Book

KEY = "homes"  # in an entry of the book


@dataclass(slots=True)
class Homes:
    """Where each process of one group was before.

    Attributes:
        by_pid: when each started, clock ticks after boot, and the folder of its own group.
        entry: of the book; 0: none, because all go to one place.
    """

    by_pid: dict[int, tuple[int, str]] = field(default_factory=dict)
    entry: int = 0

    @property
    def places(self) -> set[str]:
        """Folders that processes go back to."""
        return {folder for _, folder in self.by_pid.values()}

    def note(self, book: Book, kind: str, outside: Mapping[int, str], **facts: str) -> None:
        """Note processes that are about to be moved.

        Args:
            book: of what must be undone.
            kind: of the entry.
            outside: the folder that each process is in now.
            facts: of the group that they are moved into; "home": where its first process was.
        """
        for pid, folder in outside.items():
            one = proc.stat(pid)
            if one is not None and self.by_pid.get(pid, (-1, ""))[0] != one.start_ticks:
                self.by_pid[pid] = one.start_ticks, folder
        if self.places <= {facts["home"]}:
            return
        rows = [[pid, *home] for pid, home in self.by_pid.items()]
        before, self.entry = self.entry, book.note(kind, **facts, **{KEY: rows})
        if before:
            book.undone(before)

    def of(self, pid: int, otherwise: str) -> str:
        """The folder that a process goes back to.

        Args:
            pid: of the process.
            otherwise: the folder of a process where neither it nor a parent is noted.
        """
        if self.places <= {otherwise}:
            return otherwise
        at = pid
        while at and (one := proc.stat(at)) is not None:
            ticks, folder = self.by_pid.get(at, (-1, ""))
            if ticks == one.start_ticks:
                return folder
            at = one.parent
        return otherwise

    @classmethod
    def of_json(cls, rows: Any) -> Self:
        """Those of an entry; TypeError or ValueError where it has no such table."""
        by_pid: dict[int, tuple[int, str]] = {}
        for pid, ticks, folder in rows:
            if type(pid) is not int or type(ticks) is not int or not isinstance(folder, str):
                raise TypeError(f"{pid!r} is not a process with its group")
            by_pid[pid] = ticks, folder
        return cls(by_pid)
