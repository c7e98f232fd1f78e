"""Histories as the CSV that Apache Otava reads.

A row is a record, a column a number.

The columns `time`, `commit` and `label` come first. A number that is missing is `nan`, because
Otava takes no empty field. A file from elsewhere may have other columns: the first one named as in
`TIMES` is the time, columns of numbers are series, all others are texts about the record.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.errors import SpecFault
from sojourn.visible import in_line

if TYPE_CHECKING:
    from sojourn.analysis.history import Entry, History, Series

TIMES = ("time", "timestamp", "date")
ABOUT = ("commit", "label", "branch", "version", "sha", "revision", "build", "test", "run", "name")
ROWS_MOST, COLUMNS_MOST = 10_000, 1_000
BYTES_MOST = 64 * 1024**2


def read(path: Path) -> History:
    """The history in a CSV file, in the order of its times, without changes.

    Raises:
        SpecFault: it cannot be read, or has no column of numbers.
    """
    from sojourn.analysis.history import History

    head, rows = _rows(path)
    time = next((head.index(name) for name in TIMES if name in head), None)
    if time is not None:
        rows = _in_order(rows, time)
    numbers = [
        at
        for at, name in enumerate(head)
        if at != time and name not in ABOUT and any(_is_number(row[at]) for row in rows)
    ]
    numbers = [at for at in numbers if all(_is_number(row[at]) or not row[at] for row in rows)]
    if not numbers:
        raise SpecFault(
            "it has no column of numbers", at=str(path), fix="give a CSV with a header and numbers"
        )
    series = tuple(_series(head[at], [row[at] for row in rows]) for at in numbers)
    entries = tuple(_entry(head, row, time, n) for n, row in enumerate(rows, start=1))
    return History(study=path.name, machine="", entries=entries, series=series)


def _rows(path: Path) -> tuple[list[str], list[list[str]]]:
    from sojourn import disk

    fix = "give a CSV file with a header, as Otava reads it"
    try:
        text = disk.read_named(path, most=BYTES_MOST).decode("utf-8-sig")
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except (OSError, ValueError, csv.Error) as error:
        raise SpecFault(f"it cannot be read: {error}", at=str(path), fix=fix) from None
    head, *lines = [[cell.strip() for cell in row] for row in rows] or [[]]
    if len(lines) > ROWS_MOST or len(head) > COLUMNS_MOST:
        raise SpecFault(
            f"it has {len(lines)} rows and {len(head)} columns; at most {ROWS_MOST} and "
            f"{COLUMNS_MOST} are read",
            at=str(path),
            fix="give a shorter file",
        )
    bad = next((n for n, row in enumerate(lines, start=2) if len(row) != len(head)), None)
    if bad is not None:
        raise SpecFault(
            f"line {bad} has {len(lines[bad - 2])} fields, the header {len(head)}",
            at=str(path),
            fix=fix,
        )
    return head, lines


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _series(name: str, texts: Sequence[str]) -> Series:
    from sojourn.analysis.history import Series, Value

    numbers = [float(text) if text else math.nan for text in texts]
    values = tuple(None if math.isnan(one) else Value(value=one) for one in numbers)
    return Series(service="", load="", number=name, unit="", values=values)


def _entry(head: Sequence[str], row: Sequence[str], time: int | None, number: int) -> Entry:
    from sojourn.analysis.history import Entry

    texts = dict(zip(head, row, strict=True))
    return Entry(
        name=f"row {number}",
        started=row[time] if time is not None else "",
        commit=texts.get("commit", ""),
        label=next((texts[name] for name in ABOUT[1:] if texts.get(name)), ""),
    )


def _in_order(rows: list[list[str]], time: int) -> list[list[str]]:
    """Oldest first; as they are where a time cannot be read."""
    try:
        return sorted(rows, key=lambda row: _seconds(row[time]))
    except ValueError:
        return rows


def _seconds(text: str) -> float:
    """Seconds since 1970 of a number or an ISO 8601 time; ValueError if it is neither."""
    if _is_number(text):
        return float(text)
    return datetime.fromisoformat(text.replace(" +", "+").replace(" UTC", "+00:00")).timestamp()


def text(history: History) -> str:
    """The history as Otava reads it."""
    from sojourn.report.draw.table import Table

    columns = ("time", "commit", "label", *(in_line(one.name) for one in history.series))
    rows: tuple[tuple[str | float, ...], ...] = tuple(
        (
            in_line(entry.started),
            in_line(entry.commit or entry.name),
            in_line(entry.label),  # a file that is shown in a terminal must not control it
            *(
                math.nan if (value := one.values[at]) is None else value.value
                for one in history.series
            ),
        )
        for at, entry in enumerate(history.entries)
    )
    return Table(columns=columns, rows=rows).csv()
