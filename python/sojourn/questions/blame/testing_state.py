"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from sojourn.questions.blame import blames as blame
from sojourn.questions.blame.randomisation import Contrast
from sojourn.questions.blame.suspects import Row
from sojourn.questions.testing_state import Made, made, of_service


def found() -> Made:
    """A suspect of each kind: guilty, cleared, undecided."""
    words = ("guilty", "cleared", "undecided")
    rows = tuple(made(Row, name=w, word=w, stop=made(Contrast)) for w in words)
    return Made(of_service("blame", blame.Blames(rows=rows)), 2, 3, "suspects")
