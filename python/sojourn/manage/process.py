"""A process that was named by its number, and is known again by when it started.

Numbers are used again: another process that has the number later is not the one that was named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from sojourn.places import proc


@dataclass(frozen=True, slots=True)
class Process:
    """One process, with all that came of it.

    Attributes:
        start_ticks: when it started, clock ticks after boot.
    """

    pid: int
    start_ticks: int

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """The process that has this number now; None: there is none."""
        now = proc.stat(pid)
        return cls(pid, now.start_ticks) if now is not None else None

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended itself; what it started may live on without it."""
        now = proc.stat(self.pid)
        return now is not None and now.start_ticks == self.start_ticks and now.state != "Z"

    def pids(self) -> tuple[int, ...]:
        """Numbers of those that live; () if it is gone, whoever has its number now."""
        pids = tuple(one.pid for one in proc.family(self.pid))
        now = proc.stat(self.pid)  # read last: if it is the same now, it was when they were listed
        return pids if now is not None and now.start_ticks == self.start_ticks else ()
