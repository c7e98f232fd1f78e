"""What an assistant is sent: plain values, texts bounded and spelled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.visible import visible

TEXT_MOST = 40_000  # letters of a text
ALL_MOST = 200_000  # letters of all texts of a table: a record may have thousands of long ones
CUT = "is_cut"
Table = dict[str, Any]


@dataclass(slots=True)
class _Room:
    """Letters that are left for the texts of a table, and whether one had too little room."""

    left: int = ALL_MOST
    is_short: bool = False

    def put(self, text: str) -> str:
        """The text, or as much of it as there is room for."""
        shown = text if len(text) <= self.left else f"{text[: self.left]}…"
        self.is_short = self.is_short or shown is not text
        self.left = max(0, self.left - len(text))
        return shown


def table(values: Mapping[str, object]) -> Table:
    """A table as JSON has it, in UTF-8: a number that JSON lacks is null.

    Where its texts have more than `ALL_MOST` letters, later ones are cut and `is_cut` is true.
    """
    room = _Room()
    result = {bounded(name): _plain(value, room) for name, value in values.items()}
    return result | {CUT: True} if room.is_short else result


def _plain(value: object, room: _Room) -> object:
    if isinstance(value, Mapping):  # a cut name would be another's
        return {bounded(str(name)): _plain(inner, room) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, room) for inner in value]
    plain = cell(value)
    return room.put(plain) if isinstance(plain, str) else plain


def cell(value: object) -> object:
    """One value of a table; of a list or a struct its text, which is bounded."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    return bounded(str(value))


def bounded(text: str) -> str:
    """A text of at most `TEXT_MOST` letters; a longer one ends with an ellipsis."""
    spelled = visible(text[: TEXT_MOST + 1])
    return spelled if len(spelled) <= TEXT_MOST else f"{spelled[:TEXT_MOST]}…"
