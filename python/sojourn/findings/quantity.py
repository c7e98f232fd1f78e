"""Levels that are amounts, also where they are written with a unit: so they have an order.

`64MiB`, `10MB/s`, `50%`, `none` (no limit: more than any). A word that is none has no order.
"""

from __future__ import annotations

import math
import re

from sojourn import units
from sojourn.plan.setting import Level

_BYTES = re.compile(r"\d+(\.\d+)?([kMG]i?)?B(/s)?")
_BITS = re.compile(r"(\d+(?:\.\d+)?[kMG]?)bit/s")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)%")


def of(level: Level) -> tuple[str, float] | None:
    """(what it is an amount of, how much); None: it is none.

    >>> of(4), of("64MiB"), of("none"), of("spin")
    (('', 4.0), ('bytes', 67108864.0), ('any', inf), None)
    """
    if isinstance(level, bool):
        return None
    if isinstance(level, int | float):
        return "", float(level)
    return ("any", math.inf) if level == "none" else _of_text(level)


def _of_text(level: str) -> tuple[str, float] | None:
    if percent := _PERCENT.fullmatch(level):
        return "%", float(percent[1])
    if bits := _BITS.fullmatch(level):
        return "bytes/s", units.parse_count(bits[1]) / 8
    if _BYTES.fullmatch(level):
        rate = level.endswith("/s")
        return "bytes/s" if rate else "bytes", float(units.parse_bytes(level.removesuffix("/s")))
    return None


def ordered(levels: tuple[Level, ...]) -> tuple[Level, ...] | None:
    """The levels from the lowest amount to the highest; None if they are not amounts of one thing.

    >>> ordered(("none", "64MiB", "1GiB")), ordered((2, 1)), ordered(("50%", "8GB/s"))
    (('64MiB', '1GiB', 'none'), (1, 2), None)
    """
    amounts = [of(level) for level in levels]
    known = [amount for amount in amounts if amount is not None]
    if len(known) < len(levels) or len({what for what, _ in known} - {"any"}) != 1:
        return None
    return tuple(
        level for _, level in sorted(zip(known, levels, strict=True), key=lambda p: p[0][1])
    )
