"""A knob that turns nothing: what is measured with it is measured without it."""

from __future__ import annotations

from sojourn.knobs.knob import Felt, Knob, KnobKind, Turned


class Null(Knob):
    """Remembers its level, and no more."""

    by = "nothing"

    def __init__(self, on: Turned) -> None:
        del on
        self._level = ""

    def read(self) -> str:
        """The level that was applied last; "" before."""
        return self._level

    def apply(self, level: str) -> None:
        """Remember the level; nothing is changed."""
        self._level = level

    def verify(self) -> Felt:
        """Unknown: there is nothing that could have an effect."""
        return Felt(holds=None, why="it changes nothing")

    def restore(self) -> None:
        """Forget the level; nothing was changed."""
        self._level = ""


KIND = KnobKind(
    name="null",
    about="changes nothing",
    level='any text, such as "1"',
    pattern=".*",
    source="of this lab",
    build=Null,
)
