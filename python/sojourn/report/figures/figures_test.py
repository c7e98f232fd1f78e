import csv
import io
import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import cast

import pytest
from altair.utils import schemapi

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.plan.points import Verdict
from sojourn.report import facts, figures, page, testing, testing_answers, testing_use
from sojourn.report.draw import marks
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.draw.palette import resolve
from sojourn.report.draw.table import Record, from_records
from sojourn.report.figures import resources, series
from sojourn.report.files import DRAWN as FILES
from sojourn.report.files import pictures

ALL = {"realistic": testing.findings(), **testing.degenerate()}


# Those that differ in what is drawn; the others differ in words only.
DRAWN = ("realistic", "all unknown", "one point", "infinite quantiles", "no qos", "no runs")


@cache
def every(case: str) -> list[Figure]:
    findings = ALL[case]
    services = [f for service in findings.services for f in figures.of_service(service)]
    return [*services, *figures.of_study(findings)]


def named(name: str) -> Figure:
    return next(f for f in every("realistic") if f.name == name)


def rows_of(name: str) -> list[dict[str, object]]:
    """All data that the picture is drawn from, in any layer."""
    chart = named(name).chart
    assert chart
    datasets = cast("dict[str, list[dict[str, object]]]", chart["datasets"])
    return [row for rows in datasets.values() for row in rows]


def test_the_table_lists_the_folder() -> None:
    files = {p.stem for p in Path(__file__).parent.glob("*.py")}
    assert {kind.name for kind in figures.KINDS} == files - {"__init__", "figures_test"}
    assert all(kind.about and (kind.of_service or kind.of_study) for kind in figures.KINDS)


def test_realistic_findings_make_every_figure() -> None:
    names = [figure.name for figure in every("realistic")]
    assert len(names) == len(set(names)) == 18
    assert all(figure.chart and not figure.missing for figure in every("realistic"))


@pytest.mark.parametrize("case", ALL)
def test_a_figure_is_drawn_or_says_why_not(case: str) -> None:
    for figure in every(case):
        assert bool(figure.chart) != bool(figure.missing), figure.name
        if figure.chart:
            assert figure.alt
            assert figure.caption
            text = json.dumps(resolve(figure.chart), allow_nan=False)
            assert "var(--" not in text


def test_a_report_is_drawn_without_altair_s_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def draw(_: Findings | ServiceFinding) -> list[Figure]:
        seen.append(schemapi.DEBUG_MODE)
        return []

    kind = Kind(name="seen", about="", of_service=draw, of_study=draw)
    monkeypatch.setattr(figures, "KINDS", (kind,))
    monkeypatch.setattr(schemapi, "DEBUG_MODE", True)
    figures.of_service(testing.memcached())
    figures.of_study(testing.findings())
    assert seen == [False, False]
    assert schemapi.DEBUG_MODE, "for who draws with altair itself"


@pytest.mark.parametrize("case", DRAWN)
def test_every_figure_becomes_a_picture(case: str) -> None:
    # PDF and PNG are made from the SVG, and what a paper prints from the same chart.
    last = "png" if case == "realistic" else "svg"
    for figure in every(case):
        is_whole = figure.name == "memcached-p99-against-load" and case == "realistic"
        files = {}
        for suffix, content in pictures(figure):
            files[suffix] = content
            if suffix == last and not is_whole:
                break
        if figure.chart is None:
            assert set(files) == {"csv"}
            continue
        assert not is_whole or set(files) == {"csv", *FILES}
        picture = files["svg"].decode()
        assert picture.startswith("<svg")
        assert picture.count("<path") > 5
        assert "NaN" not in picture
        if case == "realistic":
            assert files["pdf"].startswith(b"%PDF")
            assert files["png"].startswith(b"\x89PNG")


@pytest.mark.parametrize("case", ALL)
def test_the_csv_holds_what_the_table_holds(case: str) -> None:
    for figure in every(case):
        header, *lines = csv.reader(io.StringIO(figure.table.csv()))
        assert tuple(header) == figure.table.columns
        assert len(lines) == len(figure.table.rows)
        for line, row in zip(lines, figure.table.rows, strict=True):
            for text, cell in zip(line, row, strict=True):
                if cell is None:
                    assert text == ""
                elif isinstance(cell, str):
                    assert text == cell
                else:
                    assert float(text) == cell


def test_every_run_is_a_dot_and_unbelieved_ones_are_hollow() -> None:
    service = testing.nginx()
    dots = [r for r in rows_of("nginx-p99-against-load") if r.get("what") == "run"]
    dots = [r for r in dots if "status" in r and "restart" in r]
    assert len(dots) == sum(len(point.runs) for point in service.points)
    hollow = [dot for dot in dots if dot["status"] == "not valid"]
    assert len(hollow) == sum(not r.is_believed for p in service.points for r in p.runs) == 10
    assert all(dot["reason"] == testing.LATE for dot in hollow)
    assert {dot["status"] for dot in dots} == {
        "holds",
        "not valid",
        "undecided",
        "at least",
        "never completed",
    }
    looks = marks._LOOKS
    assert [name for name, (_, _, is_filled) in looks.items() if not is_filled] == [
        "not valid",
        "not measured",
    ]


def test_the_bound_and_the_max_load_are_drawn_where_they_were_found() -> None:
    rows = rows_of("memcached-p99-against-load")
    assert [r["bound"] for r in rows if "bound" in r] == [1e6]
    bands = {r["line"]: (r["lo"], r["hi"]) for r in rows if "bottom" in r}
    assert bands == {
        "max load within QoS": (35_400 / 52_300, 37_100 / 52_300),
        "curve crosses QoS": (0.69, 0.75),
    }
    assert not [r for r in rows_of("memcached-mean-against-load") if "bound" in r]


def test_a_target_on_another_quantile_gets_its_own_figure_first() -> None:
    base = testing.memcached()
    assert base.qos
    service = replace(base, qos=replace(base.qos, q=0.95))
    names = [figure.name for figure in figures.of_service(service)]
    assert names[:2] == ["memcached-p95-against-load", "memcached-p99-against-load"]


def test_a_refused_number_is_nowhere_drawn_as_one() -> None:
    figure = named("memcached-p99-against-load")
    at = figure.table.columns.index
    estimates = [row for row in figure.table.rows if row[at("what")] == "estimate"]
    refused = [row for row in estimates if row[at("value_ns")] is None]
    assert [row[at("known")] for row in refused] == ["not valid"]
    assert refused[0][at("reason")] == testing.LATE
    runs = testing.memcached().points[8].runs
    assert refused[0][at("not_believed_ns")] == median(dict(r.quantiles)[0.99] or 0.0 for r in runs)
    drawn = [r for r in rows_of(figure.name) if r.get("what") == "estimate"]
    assert {r["fraction"] for r in drawn} == set(testing.FRACTIONS) - {0.9}


def test_what_never_completed_is_at_the_top_edge_and_in_the_csv_as_infinite() -> None:
    figure = named("nginx-p99-against-load")
    lost = [r for r in rows_of(figure.name) if r.get("status") == "never completed"]
    assert {r["y"] for r in lost} == {5e7}
    at = figure.table.columns.index
    values = [row[at("value_ns")] for row in figure.table.rows if row[at("fraction")] == 1.0]
    assert any(isinstance(v, float) and math.isinf(v) for v in values)


def test_ratios_to_theory_are_measured_over_theory() -> None:
    figure = named("against-theory")
    at = figure.table.columns.index
    for row in figure.table.rows:
        ratio, measured = row[at("ratio")], row[at("measured_ns")]
        if measured is not None:
            assert ratio == pytest.approx(float(measured) / float(row[at("theory_ns")] or 0))


def test_a_load_measured_twice_in_a_restart_keeps_both_runs_apart() -> None:
    base = testing.memcached()
    first = base.points[0]
    again = replace(first.runs[0], key=f"{first.runs[0].key}~1", mean_ns=1e6)
    point = replace(first, runs=(*first.runs, again))
    drawn = {f.name: f for f in figures.of_service(replace(base, points=(point,)))}

    def datasets(name: str) -> dict[str, list[dict[str, object]]]:
        return cast("dict[str, list[dict[str, object]]]", (drawn[name].chart or {})["datasets"])

    cells = datasets("memcached-selfcheck")["cells"]
    assert len({cell["row"] for cell in cells}) == 6
    assert "10 % #1b holds" in {cell["row"] for cell in cells}
    assert len({r["place"] for r in datasets("memcached-restarts")["runs"]}) == 6
    assert len({r["run"] for r in datasets("memcached-series")["seconds"]}) == 6


def test_places_on_curves_have_six_digits() -> None:
    names = (f.name for f in figures.of_service(testing.memcached()) if f.chart)
    rows = [row for name in names for row in rows_of(name)]
    curves = [row for row in rows if "line" in row or {"x", "sojourn"} <= row.keys()]
    assert len(curves) > 100
    every = [v for row in curves for v in (row.get(name) for name in ("fraction", "x", "y"))]
    assert all(v == float(f"{v:.6g}") for v in every if v is not None)


def test_without_a_border_no_max_load_is_drawn() -> None:
    base = testing.memcached()
    search = testing_answers.max_load(None, verdict=Verdict.UNKNOWN)
    drawn = figures.of_service(base.having("max_load", search))
    assert "max load within QoS" not in (drawn[0].chart or {})["datasets"]  # type: ignore[operator]
    value = dict(facts.of_service(base.having("max_load", search)))["max load within QoS"]
    assert value == "unknown: no run is valid"


def test_a_campaign_s_seconds_are_thinned_evenly_and_the_table_has_all() -> None:
    records: list[Record] = [
        {"load": load, "run": f"{load}/{run}", "second_s": second}
        for load in ("10 %", "90 %")
        for run in range(100)
        for second in range(100)
    ]
    drawn = series._thinned(records)
    assert len(drawn) == series.SECONDS_MAX
    runs = {str(r["run"]) for r in drawn}
    assert runs == {f"{load}/{run}" for load in ("10 %", "90 %") for run in range(0, 100, 10)}
    assert series._thinned(drawn) == drawn
    figure = Figure(name="f", title="", caption="", alt="", table=from_records(("run",), records))
    assert page._payload(figure)["csv"] is None
    short = Figure(name="f", title="", caption="", alt="", table=from_records(("run",), drawn))
    assert page._payload(short)["csv"] == short.table.csv()


def test_resources_have_a_panel_each_and_a_box_on_each_side() -> None:
    service = replace(testing.memcached(), resources=testing_use.both_sides())
    (figure,) = resources.draw(service)
    assert figure.chart
    (rows,) = cast("dict[str, list[dict[str, object]]]", figure.chart["datasets"]).values()
    boxes = [row for row in rows if "median" in row]
    panels = {str(row["panel"]) for row in boxes}
    assert len(boxes) == 2 * len(panels)
    assert figure.panels == len(panels)
    assert "CPU of the service, %" in panels
    assert not [panel for panel in panels if "stolen" in panel or "user" in panel]  # idle, part
    assert all(row["lo"] <= row["q1"] <= row["median"] <= row["q3"] <= row["hi"] for row in boxes)  # type: ignore[operator]
    assert b"<svg" in dict(pictures(figure))["svg"]
    sides = [row for row in csv.DictReader(io.StringIO(figure.table.csv())) if row["capacity"]]
    assert {row["side"] for row in sides} >= {"holds", "violated"}


def test_resources_of_a_sample_alone_are_drawn_and_without_any_nothing_is() -> None:
    service = testing.nginx()
    assert resources.draw(service) == []
    (figure,) = resources.draw(replace(service, resources=testing_use.one_sample()))
    assert figure.panels == 1  # of an idle service nothing but its memory
    assert b"<svg" in dict(pictures(figure))["svg"]


def test_very_many_combinations_have_one_chart_of_resources_together() -> None:
    one = replace(testing.memcached(), resources=testing_use.both_sides())
    assert [f.name for f in figures.of_service(one) if "resources" in f.name]
    assert not [f.name for f in figures.of_service(one, is_crowded=True) if "resources" in f.name]
    many = replace(
        testing.findings(),
        services=tuple(
            replace(
                one,
                service=f"memcached, threads = {n}",
                label="memcached",
                levels=(("params.threads", n % 2),),
            )
            for n in range(13)
        ),
    )
    (figure,) = resources.draw_study(many)
    rows = list(csv.DictReader(io.StringIO(figure.table.csv())))
    assert {row["what"] for row in rows} == {"memcached, 0 threads", "memcached, 1 thread"}
    assert {row["n"] for row in rows} == {"6", "7"}
    assert b"<svg" in dict(pictures(figure))["svg"]
