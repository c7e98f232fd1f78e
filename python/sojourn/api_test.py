"""A record in a script: tables, answer, charts."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest

import sojourn
from sojourn import store
from sojourn.browse.curves import Curve, Load
from sojourn.errors import StoreFault
from sojourn.plan import next_point
from sojourn.plan.points import Phase
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import study
from sojourn.store import golden_testing
from sojourn.store.named import shown
from sojourn.store.record import OpenRecord
from sojourn.testing_questions import PLANS

ASKED = study(profile="quick")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return golden_testing.unpack(tmp_path_factory.mktemp("results"))


def test_points_are_the_outcomes_with_a_column_for_each_factor(results: Path) -> None:
    record = sojourn.open(results=results)
    outcomes = store.read(record.path).outcomes()
    points = record.points
    assert record.study == "version_1"
    assert list(points["key"]) == [one.point.key for one in outcomes]
    assert list(points["is_believed"]) == [one.is_believed for one in outcomes]
    assert list(points["load"].dropna()) == [
        one.point.setting["load"] for one in outcomes if "load" in one.point.setting
    ]
    assert not [name for name in points.columns if name.startswith("_")]
    by_path = sojourn.open(record.path).points
    assert by_path.equals(points)


def test_the_curve_has_the_median_of_the_runs_that_count(results: Path) -> None:
    record = sojourn.open("version_1", results)
    points, curve = record.points, record.curve
    row = curve[(curve["condition"] == "") & (curve["runs_that_count"] > 1)].iloc[0]
    runs = points[
        (points["service"] == row["service"])
        & (points["point_rps"] == row["requests_per_s"])
        & points["is_believed"]
        & ~points["phase"].isin(["scheduled", "trace"])
    ]
    assert row["p99_ns"] == pytest.approx(runs["p99_ns"].median())
    assert row["p99_ns_min"] == runs["p99_ns"].min()
    assert row["runs_that_count"] == len(runs)


def test_answer_and_figures_are_those_of_the_report(results: Path) -> None:
    record = sojourn.open(results=results)
    assert record.answer.startswith("memcached ≈ 3.31k requests/s")
    assert {"overview", "chance"} & set(record.figures)
    for name, spec in record.figures.items():
        assert "vega-lite" in spec["$schema"], name
        assert "var(--" not in json.dumps(spec), "colours of a page mean nothing here"


def test_the_chart_draws_every_run_with_a_p99(results: Path) -> None:
    record = sojourn.open(results=results)
    spec = record.chart.to_dict()  # Altair checks it against the schema
    (rows,) = spec["datasets"].values()
    points = record.points
    drawn = points[points["point_rps"].notna()]
    assert {row["key"] for row in rows} == set(drawn["key"])
    assert [layer["mark"]["type"] for layer in spec["spec"]["layer"]] == ["line", "point"]


def test_records_are_listed_and_what_is_none_is_named(results: Path, tmp_path: Path) -> None:
    table = sojourn.records(results)
    assert list(table["study"]) == ["version_1"]
    assert table["points"].iloc[0] == len(sojourn.open(results=results).points)
    assert len(sojourn.records(tmp_path)) == 0
    with pytest.raises(StoreFault, match="no record 'x'"):
        sojourn.open("x", results)


def measure(record: OpenRecord, count: int, rps: float | None = None) -> None:
    first = next_point(ASKED, [], PLANS)
    assert first is not None
    for _ in range(count):
        at = len(record.outcomes())
        point = replace(first, key=f"k{at}", repeat=at, phase=Phase.SEARCH, offered_rps=rps)
        record.add(replace(imagine(point), folder=str(record.folder(point))))


def test_the_tables_of_a_running_study_are_of_the_runs_when_it_was_opened(tmp_path: Path) -> None:
    with store.open(tmp_path, ASKED) as running:
        measure(running, 2, 1e4)
        record = sojourn.open(running.path)
        measure(running, 3, 1e4)
        assert list(record.points["key"]) == ["k0", "k1"]
        assert record.curve["runs"].sum() == len(record.points)
        assert len(sojourn.open(running.path).points) == 5


def test_numbers_that_no_run_has_are_numbers_all_the_same(tmp_path: Path) -> None:
    with store.open(tmp_path, ASKED) as running:
        measure(running, 2)
    points = sojourn.open(running.path).points
    assert (points["p999_ns"] / 1e6).isna().all()
    assert (points["over_surely"] / points["requests"]).isna().all()
    assert points["requests"].dtype == "int64"


def test_a_record_without_runs_has_every_column(tmp_path: Path) -> None:
    with store.open(tmp_path, ASKED) as running:
        empty = sojourn.open(running.path)
        measure(running, 1, 1e4)
    whole = sojourn.open(running.path)
    assert list(empty.curve.columns) == list(whole.curve.columns)
    factors = set(store.read(running.path).outcomes()[0].point.setting)
    assert set(empty.points.columns) == set(whole.points.columns) - factors
    for table in (empty.curve, empty.points):
        assert len(table) == 0
        assert list(table["p99_ns"] / 1e6) == []
    assert len(empty.points[empty.points["is_believed"]]) == 0
    assert list(empty.chart.to_dict()["datasets"].values()) == [[]]


def test_a_line_has_no_load_at_which_lost_requests_decide(results: Path) -> None:
    """Two of three runs have an infinite p99: the third one is a dot, and no median."""
    record = sojourn.open(results=results)
    run = next(
        run for curve in record._seen.curves for load in curve.loads for run in load.believed
    )
    run = replace(run, requests=100_000)
    lost = replace(run, requests=100, lost=50, p99_ns=None)
    one = Curve("mm1", "", (Load(1e4, (run,)), Load(2e4, (run, lost, lost))))
    record._seen = replace(record._seen, curves=(one,))
    assert list(record.curve["p99_ns"]) == [run.p99_ns, math.inf]
    (rows,) = record.chart.to_dict()["datasets"].values()
    drawn = [(row["p99_ms"] is None, row["median_ms"] is None) for row in rows]
    assert drawn == [(False, False), (False, True), (True, True), (True, True)]


def test_a_p99_of_too_few_requests_is_marked_as_in_the_report(results: Path) -> None:
    """One run has too few, and twenty together have enough."""
    record = sojourn.open(results=results)
    run = next(
        run for curve in record._seen.curves for load in curve.loads for run in load.believed
    )
    few = replace(run, requests=100, correlation=1.0, p99_ns=2e6)
    one = Curve("mm1", "", (Load(1e4, (few,)), Load(2e4, (few,) * 20)))
    record._seen = replace(record._seen, curves=(one,))
    assert list(record.curve["too_few_requests_for"]) == ["p95 p99", ""]
    (rows,) = record.chart.to_dict()["datasets"].values()
    assert [row["median_ms"] for row in rows] == [None, *[2.0] * 20]
    assert not any(row["is_number"] for row in rows), "of one run it is none"
    other = sojourn.open(results=results)
    enough = replace(few, requests=100_000)
    other._seen = replace(other._seen, curves=(Curve("mm1", "", (Load(1e4, (enough,)),)),))
    (row,) = next(iter(other.chart.to_dict()["datasets"].values()))
    assert row["is_number"]


def test_the_chart_of_many_runs_is_drawn(results: Path) -> None:
    """Altair refuses tables of more than 5000 rows."""
    record = sojourn.open(results=results)
    run = next(run for curve in record._seen.curves for run in curve.loads[0].runs)
    many = Curve("mm1", "", (Load(1e4, (run,) * 6000),))
    record._seen = replace(record._seen, curves=(many,))
    (rows,) = record.chart.to_dict()["datasets"].values()
    assert len(rows) == 6000


def test_a_record_of_any_bytes_is_listed_and_opened_by_what_is_listed(tmp_path: Path) -> None:
    strange = tmp_path / "s" / "m" / os.fsdecode(b"a\xff")
    with store.open(tmp_path / "other", ASKED) as running:
        measure(running, 1, 1e4)
    strange.parent.mkdir(parents=True)
    running.path.rename(strange)
    (name,) = sojourn.records(tmp_path)["name"]
    assert name == shown(str(strange.relative_to(tmp_path)))
    assert sojourn.open(name, tmp_path).path == strange
