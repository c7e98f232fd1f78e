"""What a query may take: rows, memory, and time from its beginning on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from sojourn import units
from sojourn.errors import RunFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a query may take; it then runs on one thread.

    Attributes:
        rows: that are read; further ones are left.
        seconds: that it may take, with the reading of the records.
        memory: of the whole database, as DuckDB has it, such as `1GB`, and of all that a query
            takes beside it. Nothing goes to a disk.
    """

    rows: int
    seconds: float
    memory: str

    @property
    def bytes(self) -> int:
        """The memory as a number.

        >>> Bounds(rows=1, seconds=1.0, memory="50MB").bytes
        50000000
        """
        return units.parse_bytes(self.memory)


@dataclass(frozen=True, slots=True)
class Time:
    """The time of a query that begins now, s."""

    whole_s: float
    begun_s: float = field(default_factory=time.monotonic)

    @property
    def left_s(self) -> float:
        """What is left of it; 0 once it is over."""
        return max(0.0, self.begun_s + self.whole_s - time.monotonic())

    @property
    def fault(self) -> RunFault:
        """What is raised once no time is left."""
        return RunFault(
            f"the query takes longer than {self.whole_s:g} s",
            at="sojourn sql",
            fix="ask for less, or run it yourself with `sojourn sql`, which has no limit",
        )

    def refuse_late(self) -> None:
        """Go on only while there is some left; RunFault once it is over."""
        if not self.left_s:
            raise self.fault
