"""`sojourn tco RECORD --server` reads anybody's record: without rights, and no more."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import pipeline, store
from sojourn.cli import lowered, tco_platforms
from sojourn.errors import StoreFault
from sojourn.findings.findings import ServiceFinding
from sojourn.models.tco import Costs
from sojourn.plan.points import Verdict
from sojourn.report import testing, testing_answers

SERVED = {"placement": {"server": [2, 3, 4]}}


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """A record with a point of the server `a`: what its file holds, and where it says to lie."""

    def record(text: str, folder: str) -> Path:
        path = tmp_path / "record"
        for at in (path / "points/0001", tmp_path / "elsewhere"):
            at.mkdir(parents=True)
            (at / "service.json").write_text(text)
        setting = {tco_platforms.FACTOR: "a"}
        outcome = SimpleNamespace(point=SimpleNamespace(setting=setting), folder=folder)
        made: Any = SimpleNamespace(path=path, outcomes=lambda: (outcome,))
        made.folder_of = lambda one: store.Record.folder_of(made, one)
        monkeypatch.setattr(store, "read", lambda _: made)
        return path

    return record


def test_cpus_are_those_of_a_point_in_the_record(recorded: Callable[[str, str], Path]) -> None:
    assert tco_platforms._cpus(recorded(json.dumps(SERVED), "points/0001"), "a") == 3


@pytest.mark.parametrize("folder", ["../elsewhere", "points/.."])
def test_a_point_that_names_a_folder_elsewhere_is_refused(
    recorded: Callable[[str, str], Path], folder: str
) -> None:
    path = recorded(json.dumps(SERVED), folder)
    with pytest.raises(StoreFault, match="not in the record"):
        tco_platforms._cpus(path, "a")


@pytest.mark.parametrize("text", ["[]", "{", '{"placement": 3}', '{"placement": {"server": 3}}'])
def test_a_file_that_is_damaged_is_a_fault(recorded: Callable[[str, str], Path], text: str) -> None:
    path = recorded(text, "points/0001")
    with pytest.raises(StoreFault, match="cannot be read"):
        tco_platforms._cpus(path, "a")


def test_root_gives_up_its_rights_before_the_record_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    order: list[object] = []

    def read(path: Path, _: object) -> list[object]:
        order.append(("read", path))
        return []

    monkeypatch.setattr(store, "resolve", lambda _results, _name: tmp_path)
    monkeypatch.setattr(lowered, "for_reading", order.append)
    monkeypatch.setattr(tco_platforms, "platforms", read)
    tco_platforms.show("x", tmp_path, ["a=1"], Costs(), as_json=True)
    assert order == [tmp_path, ("read", tmp_path)]
    assert json.loads(capsys.readouterr().out)["rows"] == []


Row = Callable[[ServiceFinding], dict[str, Any]]


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Row:
    """What is shown of a server of 3 CPUs with this finding."""

    def made(finding: ServiceFinding) -> dict[str, Any]:
        one = replace(finding, levels=((tco_platforms.FACTOR, "a"),))
        monkeypatch.setattr(pipeline, "findings_of", lambda _: SimpleNamespace(services=(one,)))
        monkeypatch.setattr(tco_platforms, "_cpus", lambda *_: 3)
        (served,) = tco_platforms.platforms(tmp_path, {"a": 2000.0})
        return served.row(Costs())

    return made


def within(lo: float, estimate: float, hi: float) -> ServiceFinding:
    """A service with a search that came to this interval, requests/s."""
    border = testing_answers.border(estimate, lo, hi)
    return replace(testing.memcached(), sections={"max_load": testing_answers.max_load(border)})


@pytest.mark.parametrize(
    ("lo", "estimate", "hi", "about"),
    [
        (0.0, 10_000.0, 0.0, "no load fits"),
        (0.0, 115_000.0, 115_000.0, "open: at most 115k"),
        (97_000.0, 97_000.0, math.inf, "open: at least 97k"),
        (0.0, 50_000.0, math.inf, "open: unknown"),
    ],
)
def test_a_load_that_is_open_has_no_price(
    row: Row, lo: float, estimate: float, hi: float, about: str
) -> None:
    result = row(within(lo, estimate, hi))
    assert result["about"] == about
    priced = {name for name, value in result.items() if "usd_per" in name and value is not None}
    assert not priced
    assert result["load_rps"] is None
    assert (result["server"], result["cpus"], result["price_usd"]) == ("a", 3, 2000.0)
    assert tco_platforms._price(result) == tco_platforms.NONE


def test_a_load_with_an_interval_has_a_price_with_one(row: Row) -> None:
    result = row(within(35_400.0, 36_200.0, 37_100.0))
    assert result["about"].startswith("within the target: 35.4k–37.1k")
    assert (result["load_lo_rps"], result["load_hi_rps"]) == (35_400.0, 37_100.0)
    assert 0 < result["usd_per_krps_lo"] < result["usd_per_krps"] < result["usd_per_krps_hi"]
    text = tco_platforms._price(result)
    assert text == (
        f"{result['usd_per_krps']:,.2f} ({result['usd_per_krps_lo']:,.2f}–"
        f"{result['usd_per_krps_hi']:,.2f})"
    )


def test_an_interval_that_decides_nothing_says_so(row: Row) -> None:
    assert row(testing.nginx())["about"].startswith("within the target, undecided: ")


def test_a_search_without_a_valid_run_has_no_price(row: Row) -> None:
    search = testing_answers.max_load(None, verdict=Verdict.UNKNOWN)
    result = row(replace(testing.memcached(), sections={"max_load": search}))
    assert result["about"] == "unknown: no run is valid"
    assert result["usd_per_krps"] is None


def test_what_100_percent_load_is_is_named_where_no_load_was_searched(row: Row) -> None:
    result = row(replace(testing.memcached(), sections={}))
    assert result["about"] == "100 % load (achieved peak), no search for a target"
    assert result["load_rps"] == 52_300.0
    with pytest.raises(StoreFault, match="no load yet"):
        row(replace(testing.memcached(), sections={}, max_rps=None))


def test_cpu_time_is_that_of_runs_that_passed_their_checks() -> None:
    service = testing.memcached()
    point = service.points[0]
    one = point.runs[0]
    runs = (
        replace(one, cpu_ns=10_000.0, is_believed=True),
        replace(one, cpu_ns=90_000.0, is_believed=False),
        replace(one, cpu_ns=90_000.0, is_believed=False),
    )
    service = replace(service, points=(replace(point, runs=runs),))
    assert tco_platforms._cpu_ns(service) == 10_000.0


def test_the_table_has_a_dash_where_there_is_no_price(
    row: Row,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    row(within(0.0, 10_000.0, 0.0))  # of what the record has
    monkeypatch.setattr(store, "resolve", lambda _results, _name: tmp_path)
    monkeypatch.setattr(lowered, "for_reading", lambda _: None)
    tco_platforms.show("x", tmp_path, ["a=2000"], Costs(), as_json=False)
    out = capsys.readouterr().out
    assert tco_platforms.NONE in out
    assert "2,000" not in out
    tco_platforms.show("x", tmp_path, ["a=2000"], Costs(), as_json=True)
    (table,) = json.loads(capsys.readouterr().out)["rows"]
    assert table["about"] == "no load fits"
