"""What a place or a knob changes is written down first, and undone by whoever reads it.

    entry = book.note("link", name=…)  →  do it  →  …  →  undo it  →  book.undone(entry)

An entry is before the deed, so it may report something that was never done: to undo it then
finds nothing, and says so. It tells enough to know for certain what is the lab's own.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from sojourn.places.process import Ledger


class Book(Ledger, Protocol):
    """A ledger of everything that must be undone; `run.journal` keeps it on disk."""

    def note(self, kind: str, /, **facts: object) -> int:
        """Note something that is about to be done; returns the entry's number."""


#: The kind of an entry about a manager's warden, which is ended before all else is undone.
WARDEN = "warden"
#: In the order of opening; a journal that no one holds any more is closed.
_OPEN: weakref.WeakKeyDictionary[Book, None] = weakref.WeakKeyDictionary()


def opened(book: Book) -> None:
    """Say that this process has a book from now on."""
    _OPEN[book] = None


def closed(book: Book) -> None:
    """Say that nothing can be written into a book any more."""
    _OPEN.pop(book, None)


def own() -> Book | None:
    """This process's book, the last that was opened, for what no one hands one to; None: none."""
    return next(reversed([*_OPEN]), None)


@dataclass(slots=True)
class Made:
    """What has been made so far, each thing noted before it was; unmade in reverse."""

    book: Book
    _steps: list[tuple[int, Callable[[], None]]] = field(default_factory=list)

    def step(
        self,
        kind: str,
        facts: Mapping[str, object],
        make: Callable[[], None],
        unmake: Callable[[], None],
    ) -> None:
        """Note something, then make it; OSError as `make` raises it."""
        self._steps.append((self.book.note(kind, **facts), unmake))
        make()

    def unmake(self) -> None:
        """Unmake all of it; what cannot be is left to `restore`."""
        while self._steps:
            entry, unmake = self._steps.pop()
            try:
                unmake()
            except OSError:
                continue  # its entry stays in the book
            self.book.undone(entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What was found of a dead lab and what became of it. `is_done`: nothing is left of it."""

    what: str
    how: str
    is_done: bool


#: Undoes an entry by its facts, on the boot that it was made on; None: nothing was left of it.
Undo: TypeAlias = Callable[[Mapping[str, Any]], Undone | None]
