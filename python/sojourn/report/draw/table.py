"""Tidy data of a figure: what the CSV file holds and the page shows beside the picture."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.visible import visible

Cell = str | float | int | None
Record = dict[str, Cell]
_CHANGE = re.compile(r"[+-]\d[\d.,]* ?[%a-zµ]{0,4}")  # `+12 %`, which no spreadsheet computes
_FORMULA = tuple("=+-@\t＝＋－＠")  # the wide letters of some keyboards, too


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One observation per row; column names carry the unit (`p99_ns`).

    A missing number is an empty field, an infinite one `inf`; both survive a round trip.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def csv(self) -> str:
        """The table as RFC 4180 text, lines ended by a bare newline."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(map(inert, self.columns))
        writer.writerows(map(inert, row) for row in self.rows)  # an empty field for None
        return out.getvalue()


def inert(cell: object) -> object:
    """A cell that controls no terminal, and is no formula in a spreadsheet; a number stays.

    Names come from strangers' records and files. Spreadsheets run a text that begins so, also one
    in quotation marks, and hide the apostrophe.
    """
    if not isinstance(cell, str):
        return cell
    text = visible(cell)
    is_plain = not text.startswith(_FORMULA) or _is_number(text) or _CHANGE.fullmatch(text)
    return text if is_plain else f"'{text}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def from_records(columns: tuple[str, ...], records: list[Record]) -> Table:
    """Records to a table; keys that are no column are the picture's business and stay out."""
    return Table(
        columns=columns,
        rows=tuple(tuple(record.get(column) for column in columns) for record in records),
    )


def drawable(records: Sequence[Record]) -> list[Record]:
    """Records that JSON can hold: what is infinite is told by other fields (`status`, `shown`)."""
    return [
        {k: v for k, v in record.items() if not isinstance(v, float) or math.isfinite(v)}
        for record in records
    ]


def number(cell: Cell) -> float | None:
    """The cell as a number, None if it is none."""
    return float(cell) if isinstance(cell, float | int) else None


def is_finite(cell: Cell) -> bool:
    """Whether the cell holds a number that has a place on an axis."""
    return isinstance(cell, float | int) and math.isfinite(cell)
