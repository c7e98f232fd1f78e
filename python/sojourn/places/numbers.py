"""Whose process numbers are meant: a container counts its own, from 1.

The kernel gives the number of a namespace that is gone to the next one, so the start of its first
process belongs to the name. That is 0 where the first process is hidden (hidepid, proc(5)).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from sojourn.disk import tables
from sojourn.places import proc


@dataclass(frozen=True, slots=True)
class Numbers:
    """A namespace of processes.

    Attributes:
        processes: such as "pid:[4026531836]"; "": not known.
        processes_since: start of its first process, clock ticks after boot; 0: not known.
    """

    processes: str = ""
    processes_since: int = 0

    @classmethod
    def own(cls) -> Self:
        """The one in which this process is."""
        first = proc.stat(1)
        return cls(_space("self"), first.start_ticks if first else 0)

    def as_json(self) -> dict[str, object]:
        """As it is written in the journal."""
        return asdict(self)

    def may_be(self, other: Numbers) -> bool:
        """Whether it is the same, as far as both are known."""
        is_other = self.processes != other.processes and self.processes and other.processes
        since, others = self.processes_since, other.processes_since
        return not is_other and (since == others or not since or not others)

    def is_seen(self) -> bool:
        """Whether its first process is seen from here: another container runs."""
        return any(
            one is not None and self.may_be(Numbers(self.processes, one.start_ticks))
            for one in map(proc.stat, self._firsts())
        )

    def _firsts(self) -> Iterator[int]:
        for pid in proc.pids():
            if self.processes and _space(str(pid)) == self.processes and _is_first(pid):
                yield pid


def _space(who: str) -> str:
    with contextlib.suppress(OSError):
        return str(Path(f"/proc/{who}/ns/pid").readlink())
    return ""


def _is_first(pid: int) -> bool:
    """Whether it is number 1 in its own namespace."""
    with contextlib.suppress(OSError):
        for line in tables.lines(tables.text(Path(f"/proc/{pid}/status"))):
            if line.startswith("NSpid:"):
                return tables.words(line)[-1] == "1"
    return False
