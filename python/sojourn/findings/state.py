"""How far a study has answered its question, and what would settle the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

ANSWERED, IN_PART, UNDECIDED = "answered", "answered in part", "undecided"  # states of a study


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """The one command that would settle what is still open.

    Attributes:
        command: to be typed as it stands.
        seconds: how long it takes.
        why: what it would settle, in half a sentence.
    """

    command: str
    seconds: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How far a study has answered its own question (M37).

    Attributes:
        word: `ANSWERED`, `IN_PART` or `UNDECIDED`.
        done: how many of `of` are decided; unit: what is counted, plural: "cells", "effects".
        settle: the one command that would decide the rest; None where nothing is open, where
            nothing was measured, or where no more runs can decide it.
    """

    done: int
    of: int
    unit: str
    settle: Settle | None = None
    word: str = field(init=False)

    def __post_init__(self) -> None:
        """The word follows from the numbers."""
        word = UNDECIDED
        if self.done:
            word = ANSWERED if self.done == self.of else IN_PART
        object.__setattr__(self, "word", word)

    @property
    def text(self) -> str:
        """The same with numbers, where a part is open.

        >>> State(done=47, of=49, unit="cells").text, State(done=2, of=2, unit="services").text
        ('answered in part (47 of 49 cells)', 'answered')
        """
        if self.word == ANSWERED or not self.of:
            return self.word
        return f"{self.word} ({self.done} of {self.of} {self.unit})"
