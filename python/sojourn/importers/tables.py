"""Rows of CSV with a head, each under its names."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from sojourn.importers.file import ALONE, LINE_BYTES, File, fault

csv.field_size_limit(LINE_BYTES)  # the line is bounded; a body of a reply may be most of it


def rows_of(file: File, needed: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """(where, row) below the head.

    Raises:
        SpecFault: the head lacks a column or comes twice, or a row has another number of fields.
    """
    head: list[str] | None = None
    for at, fields in fields_of(file):
        if head is None:
            head = fields
            if lacks := [name for name in needed if name not in head]:
                raise fault(f"the table has no column '{lacks[0]}'", at)
            continue
        if fields == head:
            raise fault("the head of the table comes again: it has several runs", at, ALONE)
        if len(fields) != len(head):
            raise fault(f"this row has {len(fields)} fields, the head {len(head)}", at, CUT)
        yield at, dict(zip(head, fields, strict=True))


CUT = "the file may be cut short; run the tool again"


def fields_of(file: File) -> Iterator[tuple[str, list[str]]]:
    """(where, fields) of each line; a field in quotes may not hold the end of a line."""
    for at, line in file.rows():
        try:
            (fields,) = csv.reader([line], strict=True)
        except (csv.Error, ValueError) as error:
            raise fault(f"this is no row of CSV: {error}", at, CUT) from None
        yield at, fields
