"""A record in a script: tables, answer, charts."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

import sojourn
from sojourn import store
from sojourn.errors import StoreFault

GOLDEN = Path(store.__file__).parent / "golden" / "record-1.tar.xz"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    with tarfile.open(GOLDEN) as packed:
        packed.extractall(folder)  # noqa: S202 - our own; Python 3.11.2 knows no filters
    return folder


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
