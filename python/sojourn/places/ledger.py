"""What a place or a knob changes is written down first, and undone by whoever reads it.

    entry = book.note("link", name=…)  →  do it  →  …  →  undo it  →  book.undone(entry)

An entry stands before the deed, so it may tell of something that was never done: to undo it then
finds nothing, and says so. It tells enough to know for certain what is the lab's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from sojourn.places.process import Ledger


class Book(Ledger, Protocol):
    """A ledger of everything that must be undone; `run.journal` keeps it on disk."""

    def note(self, kind: str, /, **facts: object) -> int:
        """Note something that is about to be done; returns the entry's number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What was found of a dead lab and what became of it. `is_done`: nothing is left of it."""

    what: str
    how: str
    is_done: bool


#: Undoes an entry by its facts, on the boot that it was made on; None: nothing was left of it.
Undo: TypeAlias = Callable[[Mapping[str, Any]], Undone | None]
