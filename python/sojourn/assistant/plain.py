"""What an assistant is sent: plain values, texts bounded and spelled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sojourn.visible import visible

TEXT_MOST = 40_000  # letters of a text
Table = dict[str, Any]


def table(values: Mapping[str, object]) -> Table:
    """A table as JSON has it, in UTF-8: a number that JSON lacks is null."""
    return {bounded(name): _plain(value) for name, value in values.items()}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return table({str(name): inner for name, inner in value.items()})
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return cell(value)


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
