"""CSV that other programs read: what a stranger's name may not do there."""

from __future__ import annotations

import csv
import io
import math

import pytest

from sojourn.report.draw.table import Table


def read(*cells: str | float | None) -> list[str]:
    """The cells of a table of one row, as a reader of CSV has them."""
    columns = tuple(f"c{at}" for at in range(len(cells)))
    _, row = csv.reader(io.StringIO(Table(columns=columns, rows=(cells,)).csv()))
    return row


FORMULAS = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "＝1+1",
    "-O2",
    "-1+A1",
    "+1 %+2",
    "-1|x",
    '="a,b"',
]


@pytest.mark.parametrize("name", FORMULAS)
def test_a_name_is_no_formula_of_a_spreadsheet(name: str) -> None:
    assert read(name, "plain") == [f"'{name}", "plain"]
    head = Table(columns=(name,), rows=()).csv()
    assert next(csv.reader(io.StringIO(head))) == [f"'{name}"]


def test_numbers_stay_what_they_are() -> None:
    row = read(-1.5, "-1.5", "+3", "-inf", -math.inf, None, "", "a=1", "'=x", "+12 %", "-3.1 ms")
    assert row == ["-1.5", "-1.5", "+3", "-inf", "-inf", "", "", "a=1", "'=x", "+12 %", "-3.1 ms"]


def test_a_name_controls_no_terminal_that_shows_the_file() -> None:
    assert read("a\x1b[2Jb", "line\nfeed") == ["a\\x1b[2Jb", "line\nfeed"]
