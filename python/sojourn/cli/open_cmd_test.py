"""`sojourn open` as typed: files that real tools wrote, beside each other and beside a record."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import cast

import jsonschema
import pytest
import vl_convert

from sojourn import importers, pipeline, spec, store
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.importers import FORMATS
from sojourn.importers.series import PAGE
from sojourn.importers.testing import SAMPLES, content, put
from sojourn.report import opened, opened_figure, opened_file, testing
from sojourn.report.draw import palette
from sojourn.report.draw.figure import Spec, sized, vega_lite
from sojourn.report.page_test import figures_in
from sojourn.spec import kinds
from sojourn.stats.interval import Estimate, Interval
from sojourn.text.plain_values import plain

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every sample under its own name."""
    for one in SAMPLES:
        (tmp_path / one.name).write_bytes(content(one.name))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def test_each_number_has_beside_it_what_its_tool_measured(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["open", "wrk.txt"]) == Exit.OK
    out = capsys.readouterr().out
    row = next(line.split() for line in out.splitlines() if line.startswith("p99 "))
    assert row[:6] == ["p99", "4.52", "ms", "–", "send", "closed"]
    assert "adds times to its histogram that it did not measure" in " ".join(out.split())
    assert f"{PAGE}#wrk" in out


def test_several_files_come_in_one_table_with_what_keeps_them_apart(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["open", "wrk2.txt", "vegeta.json"]) == Exit.OK
    out = capsys.readouterr().out
    assert "They do not measure the same" in out
    assert next(line.split() for line in out.splitlines() if line.startswith("measured"))[-2:] == [
        "intended",
        "send",
    ]


def test_the_files_that_are_written_hold_the_same_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"--export={name}={folder / name}" for name in ("json", "csv", "markdown", "text")]
    page = folder / "page.html"
    shown = ["open", "vegeta.json", "wrk.txt", f"--export=html={page}", *words]
    assert main([*shown, "--json"]) == Exit.OK
    printed = json.loads(capsys.readouterr().out)
    assert json.loads((folder / "json").read_text()) == printed
    numbers = {(s["series"], n["number"]): n for s in printed["series"] for n in s["numbers"]}
    assert numbers["B", "p99"]["value_ns"] == 4.52e6
    assert numbers["B", "p99"]["interval_ns"] is None
    assert numbers["A", "p99"]["value_ns"] is None
    assert numbers["A", "p50"]["interval_ns"]
    rows = {(r["series"], r["number"]): r for r in csv.DictReader(io.StringIO(read(folder, "csv")))}
    assert rows["A", "p99"]["value_ns"] == "", "what is not known is no 0"
    assert float(rows["B", "p99"]["value_ns"]) == 4.52e6
    for name in ("page.html", "markdown", "text"):
        assert "4.52 ms" in read(folder, name)
        assert "adds times to its histogram" in read(folder, name)
    spec_ = figures_in(read(folder, "page.html"))["opened"]["spec"]
    assert set(spec_["datasets"]["lines"]["columns"]["series"]) == {"A"}
    assert set(spec_["datasets"]["dots"]["columns"]["series"]) == {"B"}


def test_the_json_is_what_its_schema_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["open", "vegeta.json", "wrk.txt", "wrk2.txt", "--json"]) == Exit.OK
    printed = json.loads(capsys.readouterr().out)
    form = kinds.schema("opened")
    jsonschema.validate(printed, form)
    first = printed["series"][0]["numbers"][0]
    for broken in (
        {**printed, "schema": "sojourn.opened/2"},
        {name: value for name, value in printed.items() if name != "caveats"},
        {**printed, "series": [{**printed["series"][0], "numbers": [{**first, "q": "p99"}]}]},
        {**printed, "series": [{**printed["series"][0], "numbers": [{**first, "value_ns": ""}]}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, form)


def test_a_time_without_a_bound_is_written_as_its_schema_says() -> None:
    endless = Estimate(
        q=0.99,
        value=math.inf,
        interval=Interval(1.0, math.inf),
        across_restarts=None,
        requests=5,
        effective=5.0,
    )
    facts = opened.OWN
    side = opened.Side(
        letter="A",
        name="x",
        form="record",
        facts=facts,
        estimates=(endless,),
        basis=("all requests",),
        requests=5,
        failed=(("status 500", 1),),
        seconds=None,
        rate_rps=None,
        most_ns=math.inf,
        notes=(),
    )
    written = plain(opened_file.table([side]))
    jsonschema.validate(written, kinds.schema("opened"))
    assert written["series"][0]["numbers"][0]["interval_ns"] == [1.0, "inf"]


def read(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def test_a_record_is_put_beside_a_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = spec.load("latency_vs_load", profile="quick")
    with store.open(folder, asked, resume=False, machine="vm", manifest={}) as opened:
        pass
    findings = testing.findings()
    monkeypatch.setattr(pipeline, "findings_of", lambda _path: findings)
    assert main(["open", "wrk.txt", str(opened.path), "--json"]) == Exit.OK
    series = json.loads(capsys.readouterr().out)["series"]
    loads = [point for service in findings.services for point in service.points]
    assert len(series) == 1 + len(loads)
    assert {one["measured_from"] for one in series[1:]} == {"intended"}
    first = next(n for n in series[1]["numbers"] if n["q"] == 0.5)
    assert first["value_ns"] == next(q.value for q in loads[0].quantiles if q.q == 0.5)
    assert main(["open", "wrk.txt", str(opened.path)]) == Exit.OK
    short = capsys.readouterr().out
    assert "A: wrk.txt" in short
    assert "B: " not in short, "a load of a record is a line of the comparison"
    assert f"{len(loads)} loads of records are in the table alone; --all has each." in short
    assert len(short.splitlines()) < len(loads) + 40
    assert main(["open", "wrk.txt", str(opened.path), "--all"]) == Exit.OK
    assert "B: " in capsys.readouterr().out
    assert main(["open", str(opened.path)]) == Exit.OK
    assert "A: " in capsys.readouterr().out, "nothing else was asked for"


@pytest.mark.parametrize(
    ("words", "what", "fix"),
    [
        ([], "no file is given", "--format list"),
        (["gone.json"], "neither a file nor a record", "a file that exists"),
        (["x" * 5000], "neither a file nor a record", ""),
        (["wrk.txt", "--format", "k7"], "no format k7", "known: k6-json"),
        (["wrk.txt", "--format", "k6-json"], "no JSON", ""),
        (["wrk.txt", "--unit", "minutes"], "no unit", "ns, us, ms, s"),
        (["wrk.txt", "--export", "latex=x"], "cannot be written as latex", "html, text"),
        (["wrk.txt", "--export", "html=/nowhere/x"], "does not exist", ""),
        (["wrk.txt"] * 30, "more than 26 series", "fewer"),
    ],
)
def test_what_cannot_be_opened_is_named_with_a_way_out(
    folder: Path, words: list[str], what: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["open", *words]) == Exit.USAGE
    text = " ".join(capsys.readouterr().err.split())
    assert what in text
    assert fix in text


def test_names_of_strangers_control_no_terminal_and_make_no_tag(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b[2J<script>alert(1)</script>|[red]x"
    name = f"{evil[:4]}<b>[red].json"
    row = {"latency": 5, "bytes_out": 0, "code": 200, "timestamp": "2026-01-01T00:00:00Z"}
    bad = row | {"code": 0, "error": evil}
    (folder / name).write_text(f"{json.dumps(row)}\n{json.dumps(bad)}\n")
    page, table = folder / "page.html", folder / "table.md"
    words = [f"--export=html={page}", f"--export=markdown={table}"]
    assert main(["open", name, *words]) == Exit.OK
    out = capsys.readouterr().out
    assert "\x1b[2J" not in out
    assert "[red]" in out, "it is text, no colour"
    assert "<script>alert" not in page.read_text()
    assert "<b>[red]" not in page.read_text()
    assert "<script>" not in table.read_text().replace("\\<script\\>", "")
    assert "\x1b" not in page.read_text() + table.read_text()


def test_every_format_is_listed_and_every_tool_has_its_section(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["open", "--format", "list"]) == Exit.OK
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()] == list(FORMATS)
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    for form in FORMATS:
        assert f"`{form}`" in page, form


def test_many_series_have_a_line_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["wrk.txt", "wrk2.txt", "vegeta.json", "h2load.tsv", "pgbench.log"]
    assert main(["open", *files]) == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split()[:2] for line in lines if line[:1].isalpha() and line[1:3] == "  "]
    assert rows == [list(pair) for pair in zip("ABCDE", files, strict=True)]


def test_the_picture_is_one_that_vega_draws(folder: Path) -> None:
    sides = [
        opened.of_series(letter, name, form.name, series[0])
        for letter, name in (("A", "wrk.txt"), ("B", "wrk2.txt"), ("C", "hdr-java.hlog"))
        for form, series in [importers.read(folder / name)]
    ]
    chart = opened_figure.draw(sides).chart
    assert chart
    svg = vl_convert.vegalite_to_svg(
        cast("Spec", palette.resolve(sized(chart))), vl_version=vega_lite()
    )
    assert svg.count('class="mark-line') == 2, "wrk has no more than its dots"
    assert "p99" in svg
    assert svg.count("mark-symbol") >= 2, "dots, and the legend"
    nothing = opened_figure.draw([replace(sides[0], dots=())])
    assert nothing.chart is None
    assert nothing.missing


def test_a_strangers_name_or_reason_begins_no_line_and_fills_no_page(tmp_path: Path) -> None:
    planted = "x\nB: sound.json, none failed " + "y" * 10_000
    whole = json.loads(content("memtier.json"))
    whole["ALL STATS"][planted] = whole["ALL STATS"]["Sets"]
    _, series = importers.read(put(tmp_path, json.dumps(whole).encode()))
    ghz = {"details": [{"timestamp": "2026-01-01T00:00:00Z", "status": planted, "latency": 1}]}
    _, more = importers.read(put(tmp_path, json.dumps(ghz).encode()), "ghz")
    sides = [opened.of_series("A", one.name, "", one) for one in (*series, *more)]
    assert any("sound.json" in side.name for side in sides)
    assert "sound.json" in sides[-1].failures
    for side in sides:
        assert "\n" not in side.heading
        assert len(side.heading) < 1000
