"""The first screen: answers and one chart before anything else, short, and drawn honestly."""

import json
import math
import re
from dataclasses import replace
from functools import cache
from typing import cast

import pytest

from sojourn.findings.findings import Findings
from sojourn.report import figures, headline, page, testing, testing_answers, text, tiles
from sojourn.report.draw import limits
from sojourn.report.draw.figure import Figure
from sojourn.report.figures import overview
from sojourn.report.files import pictures
from sojourn.report.page_test import Parsed
from sojourn.report.page_test import built as page_of
from sojourn.stats.interval import Interval
from sojourn.testing_questions import parts

EVERY = {"realistic": testing.findings(), **testing.degenerate(), **testing.answers()}
KEY = re.compile(r"\w+/(peak|sweep|search|confirm|check|scheduled|trace)/|/b\d+/|~\d\b")
Rows = list[dict[str, object]]


def drawn(findings: Findings) -> dict[str, Rows]:
    figure = first(findings)
    assert figure.chart
    return cast("dict[str, Rows]", figure.chart["datasets"])


def first(findings: Findings) -> Figure:
    return next(f for f in figures.of_study(findings) if f.name == overview.NAME)


def marks_of(findings: Findings, service: str = "", load: float | None = None) -> Rows:
    """The marks of the first chart, of one service or load if asked."""
    return [
        row
        for row in drawn(findings)["known"]
        if row["layer"] == "mark"
        and service in {"", row["service"]}
        and load in {None, row["fraction"]}
    ]


@cache
def built(case: str) -> str:
    return page_of(EVERY[case])


def tile(case: str) -> tiles.Tile:
    return tiles.of_service(EVERY[case].services[0])


@pytest.mark.parametrize("case", EVERY)
def test_title_and_headline_are_short(case: str) -> None:
    result = EVERY[case]
    assert 0 < len(page.title(result.study, headline.of(result))) < 60
    assert 0 < len(headline.of(result)) < 60


def test_the_page_bears_them() -> None:
    realistic, html = EVERY["realistic"], built("realistic")
    assert f"<title>{page.title(realistic.study, headline.of(realistic))}</title>" in html
    assert f"<h1>{headline.of(realistic)}</h1>" in html


def test_a_headline_that_does_not_fit_counts_instead_of_being_cut() -> None:
    base = testing.findings()
    many = tuple(replace(testing.memcached(), service=f"service-{i}") for i in range(5))
    assert headline.of(replace(base, services=many, sections={})) == "5 services: 5 holds"


def test_tiles_and_one_chart_come_before_all_else_and_doubts_are_folded() -> None:
    html = built("realistic")
    body = html[html.index("<main>") : html.index('id="figures"')]
    chart = body.index('class="chart"')
    assert body.index('class="tile"') < chart < body.index("<table")
    for doubt in ("<details", 'class="reasons"', 'class="doubts"', "What to doubt"):
        assert chart < body.index(doubt), doubt
    assert not re.search(r"<details[^>]* open", body)
    for result in re.finditer(r'<ul class="(doubts|reasons)"', body):
        before = body[: result.start()]
        assert before.count("<details") > before.count("</details>")


def test_before_the_first_chart_are_fewer_words_than_the_old_answer_had() -> None:
    """87 words of one sentence stood there before; codes of rules never do."""
    html = built("realistic")
    above = Parsed(html[html.index("<main>") : html.index('class="chart"')] + ">").text
    assert len(above.split()) < 87
    assert not re.search(r"\b[MCLP]\d+\b", above)


@pytest.mark.parametrize("case", ["realistic", "null service", "wide", "scheduled", "none"])
def test_no_internal_key_is_shown(case: str) -> None:
    result = EVERY[case]
    if case == "realistic":  # or this test could not fail
        assert KEY.search(result.services[0].points[0].runs[0].key)
    assert not KEY.search(Parsed(built(case)).text)
    assert not KEY.search(text(result, parts()))
    charts = json.dumps([figure.chart for figure in drawings(result)])
    tooltips = re.findall(r'"tooltip": (\[.*?\]|\{.*?\})', charts)
    assert tooltips
    assert not [tip for tip in tooltips if '"field": "run"' in tip]


def drawings(findings: Findings) -> list[Figure]:
    of_services = [f for s in findings.services for f in figures.of_service(s)]
    return [*of_services, *figures.of_study(findings)]


def test_a_refused_quantile_is_an_arrow_from_the_least_it_can_be() -> None:
    findings = testing.findings()
    point = findings.services[1].points[6]
    p95 = next(e for e in point.quantiles if e.q == 0.95)
    assert p95.interval
    (arrow,) = marks_of(findings, "nginx", 0.7)
    assert (arrow["known"], arrow["begin"]) == ("at least", p95.interval.lo)
    assert cast("float", arrow["tip"]) > cast("float", arrow["begin"])
    assert str(arrow["shown"]).startswith("≥ ")
    assert not arrow["is_sure"]


def test_a_run_without_its_tail_points_upwards_from_the_bound_of_its_load() -> None:
    point = EVERY["realistic"].services[1].points[6]
    figure = next(
        f for f in drawings(EVERY["realistic"]) if f.name == "nginx-p99-against-load" and f.chart
    )
    rows = cast("dict[str, Rows]", (figure.chart or {})["datasets"])["runs"]
    seen = [row for row in rows if row["status"] == "at least"]
    assert {row["y"] for row in seen} == {limits.of_load(point, 0.99)}


def test_a_refused_quantile_with_a_lower_limit_of_its_own_starts_there() -> None:
    point = EVERY["realistic"].services[0].points[2]
    own = replace(point.quantiles[3], value=None, interval=Interval(lo=350_000.0, hi=math.inf))
    changed = replace(point, quantiles=(*point.quantiles[:3], own, *point.quantiles[4:]))
    assert limits.of_load(changed, 0.99) == 350_000.0
    assert limits.of_load(replace(changed, is_believed=False), 0.99) is None


def test_an_interval_without_an_upper_end_is_an_arrow_from_its_lower_one() -> None:
    base = testing.memcached()
    first = base.points[0]
    open_ended = tuple(
        replace(e, interval=replace(e.interval, hi=math.inf)) if e.interval else e
        for e in first.quantiles
    )
    point = replace(first, quantiles=open_ended)
    service = replace(base, points=(point, *base.points[1:]))
    seen = marks_of(replace(testing.findings(), services=(service,), sections={}))
    (row,) = [r for r in seen if r["is_endless"]]
    p99 = next(e for e in open_ended if e.q == 0.99)
    assert p99.interval
    assert (row["fraction"], row["low"]) == (0.1, p99.interval.lo)
    assert cast("float", row["high"]) > cast("float", p99.value)


def test_what_never_completed_is_an_arrow_to_the_edge() -> None:
    findings = testing.findings()
    arrow = next(r for r in marks_of(findings, "nginx", 1.0))
    edge = drawn(findings)["bands"][0]["top"]
    assert (arrow["known"], arrow["tip"]) == ("never completed", edge)
    assert cast("float", arrow["begin"]) < cast("float", edge)


@pytest.mark.parametrize("case", ["realistic", "infinite quantiles", "no runs", "all unknown"])
def test_no_mark_is_on_the_floor(case: str) -> None:
    """A time on the lower edge would be a number that no one measured."""
    seen = 0
    for figure in drawings(EVERY[case]):
        if figure.chart is None or not figure.name.endswith(("against-load", overview.NAME)):
            continue
        datasets = cast("dict[str, Rows]", figure.chart["datasets"])
        for row in (row for name in ("known", "runs") for row in datasets.get(name, [])):
            if row.get("layer") == "piece":
                continue
            seen += 1
            if row.get("mark_ns") is not None:
                assert row["y"] == row["mark_ns"], figure.name
            elif "mark_ns" in row:  # a cross on the axis, where there is nothing else
                assert row["known"] == "not measured"
            else:  # an infinite one is not in JSON, and is at the upper edge
                assert row["known"] in {"never completed", "not valid"}
    assert seen


def test_a_number_with_the_clients_lateness_says_that_it_is_a_bound() -> None:
    base = testing.memcached()
    late = tuple(
        replace(p, quantiles=tuple(replace(e, lateness_ns=20_000.0) for e in p.quantiles))
        for p in base.points
    )
    result = replace(testing.findings(), services=(replace(base, points=late),), sections={})
    row = marks_of(result)[0]
    assert (row["known"], row["is_sure"]) == ("at most", 1)
    assert row["shown"] == "≤ 282 µs, up to 20.0 µs of it the client's"
    assert cast("float", row["begin"]) - cast("float", row["tip"]) == pytest.approx(20_000.0)
    assert "≤282 µs" in text(result, parts())


def test_the_knee_is_the_border_and_open_ends_have_no_line() -> None:
    band = drawn(EVERY["full"])["bands"][0]
    assert (band["lo"], band["hi"]) == (35_400 / 52_300, 37_100 / 52_300)
    assert band["is_open"] is False
    most = drawn(EVERY["at least"])["bands"][0]
    assert most["is_open"] is True
    assert most["hi"] == pytest.approx(1.02)  # the end of the axis


@pytest.mark.parametrize(
    ("case", "number"),
    [
        ("full", "≈ 36.2k requests/s (35.4k–37.1k, 90 %; 36 runs, 82 s)"),
        ("at least", "at least 41k requests/s (90 % sure; no load shown to fail; 36 runs, 82 s)"),
        ("at most", "at most 9k requests/s (90 % sure; no load shown to hold; 36 runs, 82 s)"),
        ("wide", "≈ 36.6k requests/s (20.9k–47.1k, 90 %; 36 runs, 82 s)"),
        ("none", "no load (missed at every load tried, down to 3.60k; 36 runs, 82 s)"),
        ("no border", "unknown (no run is valid)"),
    ],
)
def test_the_answer_is_a_number_wherever_there_is_one(case: str, number: str) -> None:
    assert tile(case).line == number
    words = re.sub(r"\s+", " ", text(EVERY[case], parts()))
    assert number in words
    assert number.partition(" (")[0] in re.sub(r"\s+", " ", Parsed(built(case)).text)


def test_unknown_is_beside_numbers_and_names_what_settles_it() -> None:
    wide = EVERY["wide"]
    lines = text(wide, parts()).splitlines()
    assert lines[0].endswith("? unknown")
    assert "150 effective requests near the border, 200 are needed" in tile("wide").why
    assert lines[-1] == f"next: {testing_answers.SETTLE.command}"
    assert "To bring the interval to ±7 %, 3 min 11 s" in Parsed(built("wide")).text


def test_the_machines_share_is_reported_above_a_ratio_and_not_below() -> None:
    (note,) = tile("scheduled").notes
    assert note == (
        "36.2k (35.4k–37.1k) with the CPU to itself; 24.1k (18k–30k) as this machine schedules"
        " it: kdamond.0, dockerd, kworker/0:1 and 1 more ran there"
    )
    assert note in re.sub(r"\s+", " ", text(EVERY["scheduled"], parts()))
    search = testing_answers.scheduled()
    assert search.scheduled
    near = replace(
        search.scheduled,
        border=testing_answers.border(33_000.0, 31_000.0, 35_000.0),
        quantile_ns=(110_000.0, 130_000.0),
    )
    calm = testing.memcached().having("max_load", replace(search, scheduled=near))
    assert tiles.of_service(calm).notes == ()
    (note,) = tile("undisturbed").notes
    assert note.startswith("undisturbed ≈ 48k (46k–50k, 90 %)")


def test_a_search_without_a_sweep_draws_how_sure_it_is() -> None:
    names = [f.name for f in figures.of_study(EVERY["search alone"]) if f.chart]
    assert names == ["chance"]
    html = built("search alone")
    assert html.index('data-figure="chance"') < html.index("<details")
    assert [f.name for f in figures.of_study(EVERY["full"]) if f.chart] == ["overview"]


def test_a_bar_ends_with_the_load_axis_and_open_ends_are_reported() -> None:
    bar = tile("full").bar
    assert bar
    assert (bar.lo, bar.hi) == pytest.approx((0.677, 0.709), abs=1e-3)
    assert bar.end == "52.3k max"
    ends = {case: tile(case).bar for case in ("at least", "at most")}
    assert ends["at least"]
    assert ends["at most"]
    assert ends["at least"].is_open_high
    assert ends["at most"].is_open_low
    assert math.isclose(ends["at least"].hi, 1.0)


def test_one_figure_for_a_paper_holds_curves_and_numbers() -> None:
    files = dict(pictures(first(EVERY["full"])))
    picture = files["svg"].decode()
    assert "≈ 36.2k requests/s (35.4k–37.1k, 90 %" in picture
    assert "QoS p99 ≤ 1 ms" in picture
    assert files["pdf"].startswith(b"%PDF")
