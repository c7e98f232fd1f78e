"""What an assistant may ask takes a bounded time, memory and number of rows."""

from __future__ import annotations

import json
import os
import resource
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn.assistant import plain, queried, tools
from sojourn.assistant.tools import ROWS_MOST, Tools
from sojourn.browse import notes
from sojourn.browse.curves import Load
from sojourn.errors import RunFault, SpecFault, StoreFault
from sojourn.plan import next_point
from sojourn.plan.points import Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import study
from sojourn.store.named import shown
from sojourn.testing_questions import PLANS

LONG = "select sum(a.range * b.range) from range(1000000) a, range(1000000) b"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        (tmp_path / variable).mkdir(mode=0o700)
        monkeypatch.setenv(variable, str(tmp_path / variable))
    return Tools(tmp_path / "results")


def made(results: Path, folder: str) -> str:
    """A record of a few lines; its name."""
    path = results / "s" / "m" / folder
    path.mkdir(parents=True)
    (path / "manifest.json").write_text('{"schema": "sojourn.record/1"}')
    return f"s/m/{folder}"


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


@pytest.mark.parametrize(
    "statement",
    [
        "select repeat('x', 2000000000)",
        "select length(string_agg(repeat('x', 100000000), '')) from range(20)",
    ],
)
def test_a_single_huge_value_ends_and_the_server_goes_on(
    statement: str, asked: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB's own limit counts buffers and no values."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    monkeypatch.setattr(tools, "QUERY_MEMORY_MOST", "50MB")
    with pytest.raises(RunFault, match="more memory"):
        asked.sql(statement)
    assert asked.sql("select 7 as n")["rows"] == [[7]]
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_query_that_is_wrong_says_so_as_ever(asked: Tools) -> None:
    with pytest.raises(SpecFault, match="nix"):
        asked.sql("select nix from outcomes")
    with pytest.raises(SpecFault, match="empty"):
        asked.sql(" ")


def test_names_of_columns_are_cut_as_their_values(asked: Tools) -> None:
    (name,) = asked.sql(f"""select 1 as "{"x" * 100_000}" """)["columns"]
    assert len(name) == plain.TEXT_MOST + 1


def test_a_process_that_ends_without_a_word_took_too_much(
    asked: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queried, "THIS", "import sys; sys.exit(127)")
    with pytest.raises(RunFault, match="more memory"):
        asked.sql("select 1")


def test_a_long_text_in_a_cell_is_cut(asked: Tools) -> None:
    (row,) = asked.sql("select repeat('x', 1000000), 'short'")["rows"]
    assert (len(row[0]), row[1]) == (plain.TEXT_MOST + 1, "short")


def test_a_query_of_many_columns_has_fewer_rows(asked: Tools) -> None:
    columns = ", ".join(f"range as c{at}" for at in range(1000))
    many = asked.sql(f"select {columns} from range(200)")  # noqa: S608 - numbers alone
    assert len(many["columns"]) == 1000
    assert (len(many["rows"]), many["has_more"]) == (tools.CELLS_MOST // 1000, True)


def test_a_record_of_any_bytes_is_listed_and_meant_by_what_is_listed(
    asked: Tools, tmp_path: Path
) -> None:
    name = made(tmp_path / "results", os.fsdecode(b"a\xff"))
    (row,) = asked.list_records(q=shown(name))["records"]
    assert row["name"] == shown(name)
    assert json.dumps(row, ensure_ascii=False).encode("utf-8")
    notes.keep(name, "warm")
    for record in ("newest", row["name"], row["name"][4:]):
        assert asked.read_note(record) == {"record": shown(name), "note": "warm"}
    with pytest.raises(SpecFault) as caught:
        asked.read_note("absent")
    assert caught.value.fix.encode("utf-8")


def test_a_note_is_written_on_the_record_that_is_named_in_full(
    asked: Tools, tmp_path: Path
) -> None:
    name = made(tmp_path / "results", "20260101T000000Z-0001")
    for part in ("newest", "0001", "s/m/", ""):
        with pytest.raises(SpecFault, match="whole name"):
            asked.write_note(part, "x")
    asked.write_note(name, "warm\x1b")
    before = asked.read_note(name)["note"]
    for other in ("", "cold"):
        with pytest.raises(StoreFault, match="another note"):
            asked.write_note(name, "x", other)
    asked.write_note(name, "new", before)
    assert notes.load(name) == "new"


@pytest.mark.parametrize("day", ["yesterday", "2026-1-5", "2026-11-31"])
def test_a_day_that_is_none_is_refused(asked: Tools, tmp_path: Path, day: str) -> None:
    made(tmp_path / "results", "20260101T000000Z-0001")
    for bound in ("since", "until"):
        with pytest.raises(SpecFault, match="no day"):
            asked.list_records(**{bound: day})  # type: ignore[arg-type]
    assert asked.list_records(since="20260101", until="2026-01-01")["count"] == 1


def test_an_assistant_is_sent_plain_values() -> None:
    values = {"a": [{"b\x1b": "c\udcff"}, (float("inf"), 1.5, True, None)], "d": Path("e")}
    sent = plain.table(values)
    assert sent == {"a": [{"b\\x1b": "c\\udcff"}, [None, 1.5, True, None]], "d": "e"}
    assert len(plain.table({"text": "x" * 50_000})["text"]) == plain.TEXT_MOST + 1


def test_all_texts_of_an_answer_together_have_a_bound() -> None:
    """A hostile record has hundreds of conditions of 40,000 letters; numbers are never lost."""
    rows = [{"condition": "x" * 30_000, "p99_ms": at} for at in range(200)]
    sent = plain.table({"loads": rows})
    assert sent["is_cut"]
    assert sum(len(row["condition"]) for row in sent["loads"]) < plain.ALL_MOST + 1000
    assert [row["p99_ms"] for row in sent["loads"]] == list(range(200))
    assert [list(row) for row in sent["loads"]] == [["condition", "p99_ms"]] * 200
    assert "is_cut" not in plain.table({"loads": rows[:6]})


def test_a_median_that_lost_requests_decide_is_the_word_inf() -> None:
    """JSON has no infinity, and null would say that nothing was measured."""
    point = next_point(study(profile="quick"), [], PLANS)
    assert point is not None
    run = replace(imagine(point), verdict=Verdict.HOLDS, requests=100, mean_ns=1e6)
    lost = replace(run, lost=50, mean_ns=None, p99_ns=None)
    row = tools._load(Load(1e4, (run, lost, lost)))
    assert (row["p99_ms"], row["mean_ms"]) == ("inf", "inf")
    assert row["mean_ms_from_to"] == [1.0, "inf"]
    assert "p99" not in row["too_few_requests_for"], "requests that never completed decide it"
    few = replace(run, p99_ns=2e6, correlation=1.0)
    assert "p99" in tools._load(Load(1e4, (few,)))["too_few_requests_for"]
    enough = replace(few, requests=100_000)
    assert tools._load(Load(1e4, (enough,)))["too_few_requests_for"] == []
    assert tools._load(Load(1e4, (enough,)))["at_most"] == []
    assert "p99" in tools._load(Load(1e4, (replace(enough, over_surely=0),)))["at_most"]
    json.dumps(row, allow_nan=False)
