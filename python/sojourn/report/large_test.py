"""Pages of large studies: small, drawn, filtered, and unpacked when they are looked at."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import vl_convert

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.load_point import LoadPoint
from sojourn.findings.point_row import PointRow
from sojourn.report import explore, figures, library, page, page_test, testing, volume
from sojourn.report.draw.figure import Figure, vega_lite
from sojourn.report.figures import by_level
from sojourn.report.files import pictures
from sojourn.report.pack import unpacked
from sojourn.testing_questions import parts

KEYS = ("services.memcached.params.threads", "neighbour")


def many(point: LoadPoint, runs: int, name: str) -> LoadPoint:
    """The same load with many runs, of which one was much later than the others."""
    made = [
        replace(
            point.runs[n % len(point.runs)],
            key=f"{name}/f{point.fraction}/b{n}",
            repeat=n,
            send_lag_p99_ns=9e9 if n == 77 else 5_000.0 + n,
            series=point.runs[0].series,
        )
        for n in range(runs)
    ]
    return replace(point, runs=tuple(made))


@cache
def campaign(runs: int, combinations: int = 16) -> Findings:
    """memcached under combinations of two factors, `runs` of each at two loads."""
    one = testing.memcached()
    services = tuple(
        replace(
            one,
            service=f"memcached, threads = {n // 4}, neighbour = n{n % 4}",
            label="memcached",
            levels=((KEYS[0], n // 4), (KEYS[1], f"n{n % 4}")),
            points=tuple(many(one.points[at], runs, str(n)) for at in (2, 6)),
        )
        for n in range(combinations)
    )
    rows = tuple(row(s, point, at) for s in services for point in s.points for at in range(runs))
    return replace(testing.findings(), services=services, points=rows, sections={})


def row(service: ServiceFinding, point: LoadPoint, at: int) -> PointRow:
    run = point.runs[at]
    return PointRow(
        key=run.key,
        service=service.label,
        levels=service.levels,
        phase="sweep",
        repeat=at,
        fraction=point.fraction,
        offered_rps=run.offered_rps,
        achieved_rps=run.achieved_rps,
        p50_ns=dict(run.quantiles)[0.5],
        p99_ns=dict(run.quantiles)[0.99],
        verdict=run.verdict,
        reasons=run.reasons,
    )


def built(findings: Findings) -> str:
    of_services: dict[str, list[Figure]] = {
        s.service: figures.of_service(s) for s in findings.services
    }
    return page.html(findings, of_services=of_services, of_study=figures.of_study(findings))


@cache
def page_of(runs: int) -> str:
    """The page of a campaign, which takes seconds."""
    return built(campaign(runs))


def pack_of(html: str, name: str) -> dict[str, object]:
    match = re.search(rf'<script type="text/plain" id="{name}">([^<]*)</script>', html)
    assert match
    content = unpacked(match[1])
    assert isinstance(content, dict)
    return content


def test_small_studies_have_no_filters_and_nothing_packed() -> None:
    findings = testing.findings()
    assert not volume.is_filtered(findings)
    assert not volume.is_large(findings)
    html = page_test.built(findings)
    assert 'id="filters"' not in html
    assert 'id="pack-' not in html


def test_a_self_check_of_five_thousand_runs_is_drawn_with_the_worst_among_them() -> None:
    one = testing.memcached()
    service = replace(one, points=(many(one.points[2], 5_000, "x"),))
    every = (kind for shown in parts().sections for kind in shown.figures)
    draw = next(kind.of_service for kind in every if kind.name == "selfcheck")
    assert draw
    [figure] = draw(service)
    assert len(figure.table.rows) == 5_000
    assert figure.chart
    drawn = json.dumps(figure.chart["datasets"])
    assert "9.0 s" in drawn  # the one that was late
    shown = re.search(r"(\d+) of 5,000 runs are drawn", figure.caption)
    assert shown
    assert int(shown[1]) < 300
    assert dict(pictures(figure))["svg"].startswith(b"<svg")


def test_the_page_grows_by_less_than_its_points() -> None:
    small, large = (len(page_of(n)) for n in (20, 80))
    packed_library = len(library.packed())
    assert (large - packed_library) < 2.5 * (small - packed_library)
    assert large < 10_000_000


def test_every_point_and_every_combination_is_in_a_pack() -> None:
    findings = campaign(20)
    html = page_of(20)
    points = pack_of(html, "pack-points")
    assert points["key"] == [row.key for row in findings.points]
    part = pack_of(html, "pack-part-3")
    assert "threads = 0, neighbour = n3" in str(part["html"])
    assert isinstance(part["figures"], dict)
    assert {f.name for f in figures.of_service(findings.services[3]) if f.chart} == set(
        part["figures"]
    )
    runs = pack_of(html, "pack-runs-3")
    assert set(runs) == {run.key for p in findings.services[3].points for run in p.runs}


def rows_of(data: Any) -> list[dict[str, object]]:
    """Rows of a pack, as page.js makes them of its columns."""
    return [
        {
            name: v[at]
            for name, v in data["columns"].items()
            if at not in data["lacks"].get(name, ())
        }
        for at in range(data["count"])
    ]


def test_rows_of_figures_lie_column_by_column_and_are_the_same() -> None:
    service = campaign(20).services[3]
    packed: Any = pack_of(page_of(20), "pack-part-3")["figures"]
    for figure in (f for f in figures.of_service(service, is_crowded=True) if f.chart):
        own, spec = packed[figure.name]["spec"]["datasets"], dict[str, Any](figure.chart or {})
        assert {name: rows_of(data) for name, data in own.items()} == spec["datasets"]
        assert any(data["count"] for data in own.values())


def test_each_factor_has_a_panel_with_the_mean_of_its_levels() -> None:
    [figure] = by_level.draw(campaign(20))
    assert figure.panels == 2
    first = dict(zip(figure.table.columns, figure.table.rows[0], strict=True))
    assert (first["factor"], first["level"], first["of"]) == ("threads", "0", 4)
    assert first["least_ns"] == pytest.approx(first["value_ns"])  # all combinations are alike
    assert by_level.draw(campaign(20, combinations=8)) == []


def test_choices_are_what_the_points_have_and_columns_say_it() -> None:
    findings = campaign(20)
    explored = explore.of(findings)
    assert [choice.name for choice in explored.choices] == [
        "service",
        "phase",
        "verdict",
        "threads",
        "neighbour",
    ]
    content = unpacked(explored.points)
    assert isinstance(content, dict)
    threads = next(c for c in explored.choices if c.name == "threads")
    places = content["chosen"][threads.key]
    assert [threads.levels[at] for at in places] == [
        str(dict(row.levels)[KEYS[0]]) for row in findings.points
    ]


def lossy(findings: Findings, at: int) -> Findings:
    """The same, of whose points every `at`-th has an infinite p99."""
    points = [*findings.points]
    points[::at] = [replace(point, p99_ns=math.inf) for point in points[::at]]
    return replace(findings, points=tuple(points))


def test_an_infinite_p99_is_told_and_has_its_place_in_the_picture() -> None:
    explored = explore.of(lossy(campaign(20), 2))
    content = unpacked(explored.points)
    assert isinstance(content, dict)
    assert content["p99"].count("inf") == len(content["p99"]) / 2
    finite = max(ns for ns in content["p99"] if ns != "inf")
    spec: Any = explored.charts["explored"]
    assert spec["usermeta"]["top_ns"] > finite, "the edge is no measured time"


def test_an_arrow_at_the_edge_is_where_something_never_came() -> None:
    spec: Any = explore.of(campaign(20)).charts["explored"]
    ends = {"low": 2e5, "panel": "", "colour": "", "greatest": "", "load": "", "points": 3}
    rows = [
        {**ends, "fraction": 0.2, "y": 5e5, "high": 6e5, "endless": False},
        {**ends, "fraction": 0.4, "y": 5e5, "high": 1e6, "endless": True},
    ]
    drawn = json.dumps({**spec, "datasets": {**spec["datasets"], "rows": rows}})
    svg: str = vl_convert.vegalite_to_svg(drawn, vl_version=vega_lite())
    [marks] = re.findall(r'<g class="[^"]*layer_3_marks"[^>]*>(.*?)</g>', svg)
    assert marks.count("<path") == 1


def test_runs_that_are_not_believed_are_a_hollow_mark_off_the_line() -> None:
    findings = campaign(20)
    rows = tuple(replace(row, is_believed=n % 4 > 0) for n, row in enumerate(findings.points))
    explored = explore.of(replace(findings, points=rows))
    content = unpacked(explored.points)
    assert isinstance(content, dict)
    assert content["believed"] == [int(row.is_believed) for row in rows]
    spec: Any = explored.charts["explored"]
    ends = {"low": 2e5, "high": 6e5, "panel": "", "colour": "", "endless": False}
    drawn = [{**ends, "fraction": n / 9, "y": 5e5, "doubted": n == 2} for n in range(5)]
    text = json.dumps({**spec, "datasets": {**spec["datasets"], "rows": drawn}})
    svg: str = vl_convert.vegalite_to_svg(text, vl_version=vega_lite())
    solid, hollow = (
        re.findall(rf'<g class="[^"]*layer_{n}_marks"[^>]*>(.*?)</g>', svg)[0] for n in (2, 4)
    )
    assert (solid.count("<path"), hollow.count("<path")) == (4, 1)
    assert 'fill="none"' in hollow or 'fill="transparent"' in hollow or "fill=" not in hollow


PROBE = """<script>addEventListener("load", async () => {
  const wait = (is) => new Promise((done) => {
    const again = () => { const found = is(); if (found) done(found); else setTimeout(again, 1); };
    again();
  });
  const said = document.body.dataset, form = document.getElementById("filters");
  document.getElementById("points").scrollIntoView();
  await wait(() => document.documentElement.dataset.explored);
  await wait(() => document.querySelector("#explored svg"));
  said.never = document.querySelectorAll('#explored g[class*="layer_3_marks"] path').length;
  said.every = document.getElementById("left").textContent;
  const boxes = form.querySelectorAll('[data-choice="neighbour"] input');
  for (const box of [...boxes].slice(1)) box.click();
  said.one = document.getElementById("left").textContent;
  said.rows = document.querySelectorAll("#chosen tbody tr").length;
  const levels = document.querySelectorAll("#chosen tbody td:nth-child(5)");
  said.levels = [...new Set([...levels].map((cell) => cell.textContent))].join();
  document.querySelector("#chosen tbody tr").click();
  await wait(() => document.querySelector(".looked svg"));
  said.looked = document.querySelector(".looked dd").textContent;
  document.querySelector("details.part").open = true;
  await wait(() => document.querySelector("details.part .chart svg"));
  said.part = document.querySelector("details.part h2").textContent;
  form.reset();
  await wait(() => document.getElementById("left").textContent === said.every);
  said.reset = "yes";
});</script>"""


def allowed(html: str, element: str) -> str:
    """The page with one more script in its policy, which else holds as it is."""
    text = element.removeprefix("<script>").removesuffix("</script>")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return html.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)


@pytest.mark.skipif(page_test.CHROMIUM is None, reason="needs chromium")
def test_a_browser_filters_points_and_unpacks_what_is_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    html, _, end = allowed(built(lossy(campaign(20), 7)), PROBE).rpartition("</body>")
    file.write_text(f"{html}{PROBE}</body>{end}", "utf-8")
    parsed = page_test.rendered(file)
    [result] = parsed.of("body")
    assert result.get("data-every") == "640 of 640 points"
    assert int(str(result.get("data-never"))) > 0, "points whose p99 is infinite are in the picture"
    assert result.get("data-one") == "160 of 640 points"
    assert result.get("data-rows") == "50"
    assert result.get("data-levels") == "n0"
    assert result.get("data-looked") == "0/f0.3/b0"
    assert str(result.get("data-part")).startswith("memcached, 0 threads, n0")
    assert result.get("data-reset") == "yes"
    assert not [attrs for _, attrs in parsed.tags if attrs.get("class") == "failed"]
