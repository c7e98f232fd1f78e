"""What a report is handed, because questions are unknown here: how each is shown and answered.

`write`, `text` and `glance.text` take it and hold it while they work; whoever is asked meanwhile
looks here, so that not every sentence has to pass it on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from sojourn.analysis.answer_kind import Answers
from sojourn.report.section import Shown

if TYPE_CHECKING:
    from sojourn.report.openings.opening import Opens


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """How questions are shown and answered.

    Attributes:
        sections: how each is shown, in the order of showing.
        openings: first screens of studies that ask some of them.
        answers: how each is answered, in the order of speaking.
    """

    sections: tuple[Shown, ...] = ()
    openings: tuple[Opens, ...] = ()
    answers: Answers = field(default_factory=lambda: MappingProxyType({}))


_PARTS: ContextVar[Parts] = ContextVar("parts", default=Parts())  # noqa: B039  # it is frozen


@contextmanager
def using(parts: Parts) -> Iterator[None]:
    """Show and answer with these until the end of the block."""
    token = _PARTS.set(parts)
    try:
        yield
    finally:
        _PARTS.reset(token)


def sections() -> tuple[Shown, ...]:
    """How questions are shown, in order."""
    return _PARTS.get().sections


def openings() -> tuple[Opens, ...]:
    """First screens of studies that ask some of them."""
    return _PARTS.get().openings


def answers() -> Answers:
    """How questions are answered, in order."""
    return _PARTS.get().answers
