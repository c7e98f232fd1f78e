"""Rows of dots: names that differ look different."""

from __future__ import annotations

import pytest

from sojourn.report import dot_rows
from sojourn.report.dot_rows import Row
from sojourn.text.cut import cut

LONG = [f"some rather long parameter name {n} on" for n in range(14)]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_names_that_differ_look_different_in_every_width(width: int) -> None:
    rows = [Row(name=name, at=1.2, lo=1.1, hi=1.3, words="1.2 (1.1–1.3)") for name in LONG]
    lines = list(dot_rows.lines(rows, width))
    assert max(map(len, lines)) <= width
    assert len({line.partition("1.2 (")[0] for line in lines}) == len(LONG)


def test_names_differ_where_their_middle_does() -> None:
    names = [f"xz on the same CPU with policy {n} and with a long end" for n in "ab"]
    assert len(set(cut(names, 20))) == 2
    assert all(len(name) <= 20 for name in cut(names, 20))
    assert cut(["short", "short"], 20) == ["short", "short"]


def test_a_number_beyond_the_axis_is_beside_an_arrow() -> None:
    far = Row(name="far", at=1e5, lo=3e4, hi=3e5, words="at least 30,000")
    near = Row(name="near", at=1e-4, lo=9e-5, hi=1.1e-4, words="0.0001")
    lines = list(dot_rows.lines([far, near], 80))
    assert lines[0].endswith("●>")
    assert "  <●" in lines[1]


def test_a_name_of_a_record_moves_no_cursor() -> None:
    (line,) = dot_rows.lines([Row(name="a\x1b[2Jb\u202ec", at=1.0)], 80)
    assert "\x1b" not in line
    assert "\u202e" not in line
