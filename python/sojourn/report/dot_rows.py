"""Rows of dots with intervals, as text: names on the left, a log axis on the right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sojourn.text.cut import cut
from sojourn.visible import visible

SIGNS = {"shown": "●", "open": "○"}
NAME_MAX = 32
FIELD_MIN = 10  # columns that are left to the dots, at least
EDGE = 100.0  # no axis of ratios goes further from 1: arrows say that an interval does
FAR = 1.02  # of the axis beyond the outermost end


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line.

    Attributes:
        at, lo, hi: the number and its interval; None: there is none.
        words: the number as text, between name and dots.
        sign: of `SIGNS`.
        floor: from 1/floor to floor equal runs differ; None: not known.
        others: (number, its sign) of what else is in the row.
    """

    name: str
    at: float | None
    lo: float | None = None
    hi: float | None = None
    words: str = ""
    sign: str = "shown"
    floor: float | None = None
    others: tuple[tuple[float, str], ...] = ()


def lines(rows: Sequence[Row], width: int, *, one: float | None = 1.0) -> Iterator[str]:
    """The rows as lines of at most `width` columns.

    Args:
        rows: in the order in which they are drawn.
        width: of a line, columns.
        one: a number that is marked in every row, and stays on the axis; None for none.
    """
    report = max((len(row.words) for row in rows), default=0)
    longest = max((len(visible(row.name)) for row in rows), default=0)
    wide = min(NAME_MAX, longest, width - report - 2)
    left = wide + 2 + report + 2
    field = width - left
    drawn = field >= FIELD_MIN
    ends = _ends(rows, one)
    names = cut([visible(row.name) for row in rows], wide)
    for name, row in zip(names, rows, strict=True):
        dots = f"  {_field(row, field, ends, one)}" if drawn and ends else ""
        yield f"{name:<{wide}}  {row.words:<{report}}{dots}".rstrip()


def _ends(rows: Iterable[Row], one: float | None) -> tuple[float, float] | None:
    """What the axis goes from and to: every end of every row, but ratios no further than `EDGE`."""
    known = [
        end
        for row in rows
        for end in (row.at, row.lo, row.hi, *(at for at, _ in row.others))
        if end is not None and math.isfinite(end) and end > 0
    ]
    if one is not None:
        known = [one, *(min(max(end, one / EDGE), one * EDGE) for end in known)]
    if not known:
        return None
    lo, hi = min(known) / FAR, max(known) * FAR
    return lo, hi


def _field(row: Row, field: int, ends: tuple[float, float], one: float | None) -> str:
    """The line at `one`, the floor behind it, the interval, and the dot on top."""
    lo, hi = ends
    cells = [" "] * field

    def column(value: float) -> int:
        inside = min(max(value, lo), hi)
        return round(math.log(inside / lo) / math.log(hi / lo) * (field - 1))

    if one is not None:
        if row.floor:
            for at in range(column(one / row.floor), column(one * row.floor) + 1):
                cells[at] = "░"
        cells[column(one)] = "│"
    for number, sign in row.others:
        cells[column(number)] = sign
    if row.at is None or row.at <= 0:
        return "".join(cells).rstrip()
    if row.lo is not None and row.hi is not None:
        for at in range(column(row.lo), column(row.hi) + 1):
            cells[at] = "┼" if cells[at] == "│" else "─"
        cells[0] = "<" if row.lo < lo else cells[0]
        cells[-1] = ">" if row.hi > hi else cells[-1]
    # A number beyond the axis is beside the arrow, and not under it.
    inside = min(max(column(row.at), int(row.at < lo)), field - 1 - int(row.at > hi))
    cells[inside] = SIGNS[row.sign]
    return "".join(cells).rstrip()
