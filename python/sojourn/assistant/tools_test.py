"""What an assistant may ask takes a bounded time, memory and number of rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn.assistant import tools
from sojourn.assistant.tools import ROWS_MOST, Tools
from sojourn.errors import RunFault

LONG = "select sum(a.range * b.range) from range(1000000) a, range(1000000) b"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Tools(tmp_path / "results")


def test_a_query_has_some_rows_and_says_whether_there_are_more(asked: Tools) -> None:
    many = asked.sql("select range as n from range(1000000)")
    assert (many["columns"], len(many["rows"]), many["has_more"]) == (["n"], ROWS_MOST, True)
    just = asked.sql("select range from range(200)")
    assert ROWS_MOST == 200
    assert (len(just["rows"]), just["has_more"]) == (ROWS_MOST, False)


def test_a_query_that_takes_long_ends(asked: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "QUERY_S_MOST", 0.2)
    with pytest.raises(RunFault, match="longer than"):
        asked.sql(LONG)


def test_a_query_that_takes_much_memory_ends(asked: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "QUERY_MEMORY_MOST", "50MB")
    with pytest.raises(RunFault, match="more memory"):
        asked.sql("select count(*) from (select distinct range from range(100000000))")


def test_a_long_text_in_a_cell_is_cut(asked: Tools) -> None:
    (row,) = asked.sql("select repeat('x', 1000000), 'short'")["rows"]
    assert (len(row[0]), row[1]) == (tools.TEXT_MOST + 1, "short")
