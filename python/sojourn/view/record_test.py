"""A record in the view: its name, its note, and curves in turn."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("starlette", reason="needs the extra view")
pytest.importorskip("uvicorn", reason="needs the extra view")

from sojourn import __version__, spec, store
from sojourn.browse import entries, notes, records
from sojourn.browse.curves import Curve, Load
from sojourn.browse.index import Index
from sojourn.view import links, live, pages, plot, record
from sojourn.view.serving_testing import NAME, ROOT, Served, own_folders, serving, unpacked

ODD = os.fsdecode(b"odd \xff") + "\u202e 50%41"  # a study


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    own_folders(tmp_path, monkeypatch)
    return unpacked(tmp_path)


@pytest.fixture
def served(results: Path) -> Iterator[Served]:
    Index(results).whole()  # a view that begins later finds it in the cache
    with serving(results) as one:
        yield one


def save(served: Served, name: str, **table: object) -> tuple[int, dict[str, str]]:
    head = {"Origin": f"http://127.0.0.1:{served.port}"}
    reply = served.ask(links.record(name, "note"), "POST", json.dumps(table).encode(), head)
    return reply.status, json.loads(reply.text)


def shown_version(served: Served, name: str) -> str:
    match = re.search(r'data-version="([^"]+)"', served.ask(links.record(name)).text)
    assert match
    return match[1]


def test_a_record_of_any_name_is_opened_compared_filtered_and_noted(results: Path) -> None:
    name = f"{ODD}/m/20270101T000000Z-0001"
    shutil.copytree(results / NAME, results / name)
    with serving(results) as served:
        while "data-pending" in (rows := served.ask("/rows").text):
            time.sleep(0.1)  # the test's own time limit ends it
        assert f'href="{ROOT}{links.record(name)}"' in rows
        assert f'value="{links.quoted(name)}"' in rows
        page = served.ask(links.record(name))
        assert (page.status, "12k/s at p99" in page.text) == (200, True)
        sides = served.ask(f"/sides?r={quote(links.quoted(name))}&r={NAME}")
        assert (sides.status, sides.text.count('<p class="name">')) == (200, 2)
        assert "\\udcff\\u202e" in sides.text
        (study,) = re.findall(r'<option value="(odd [^"]*)"', served.ask("/").text)
        for form in ("/records.json", "/rows", "/"):
            assert served.ask(f"{form}?study={quote(study)}").status == 200
        records_of = served.ask(f"/records.json?study={quote(study)}").text
        assert json.loads(records_of)["count"] == 1
        assert save(served, name, text="warm")[0] == 200
        assert notes.load(name) == "warm"
        missing = save(served, f"{ODD}/m/none", text="warm")
        assert missing[0] == 404
        assert "\\udcff" in missing[1]["what"]


def test_a_save_replaces_only_the_note_that_its_page_showed(served: Served) -> None:
    old = shown_version(served, NAME)
    status, reply = save(served, NAME, text="first", version=old)
    assert (status, reply["version"]) == (200, shown_version(served, NAME))
    others: tuple[tuple[dict[str, object], str], ...] = (
        ({"version": old}, "changed meanwhile"),
        ({}, "changed meanwhile"),
        ({"version": None}, "no note"),
    )
    for stale, what in others:
        status, reply = save(served, NAME, text="second", **stale)
        assert (status, what in reply["what"]) == (404, True), stale
        assert notes.load(NAME) == "first"
    assert save(served, NAME, text="second", version=shown_version(served, NAME))[0] == 200
    assert notes.load(NAME) == "second"


def test_a_note_is_shown_as_it_can_be_saved_again(served: Served) -> None:
    """A page drops a line feed at the begin, and a mark of direction was spelled for good."""
    notes.keep(NAME, "\n\u05d0\u200f & <b>\u202e\x1b")
    page = served.ask(links.record(NAME)).text
    (text,) = re.findall(r"(?s)<textarea[^>]*>\n(.*)</textarea>", page)
    assert text == "\n\u05d0\u200f &amp; &lt;b&gt;\\u202e\\x1b"


def test_folders_that_are_copies_are_named(results: Path) -> None:
    """They were left out of the count, and no page had their names."""
    points = results / NAME / "points"
    folders = sorted(one.name for one in points.iterdir() if (one / "outcome.parquet").exists())
    with serving(results) as served:
        before = served.ask(links.record(NAME)).text
    assert "a copy of another point" not in before
    shutil.copytree(points / folders[0], points / f"{folders[0]}-<again>")
    with serving(results) as served:
        page = served.ask(links.record(NAME)).text
    assert f"<code>points/{folders[0]}-&lt;again&gt;</code>" in page
    assert f"{len(folders)} point" in page, "it counts once"


def test_a_record_without_a_curve_says_so(results: Path) -> None:
    study = spec.load("max_load_memcached", profile="quick")
    with serving(results) as served:
        with store.open(results, study, machine="m", manifest={}) as opened:
            path = links.record(str(opened.path.relative_to(results.absolute())))
            text = served.ask(path).text
            assert "No run at a load has a p99 yet: there is no curve." in text
            assert ">running<" in text, "also where no script runs"
        assert "No run at a load has a p99: there is no curve." in served.ask(path).text


def test_a_page_beyond_the_most_hears_why_it_is_not_followed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/r/{NAME}/events"
    assert [line for line in served.events(path) if line.startswith("event")] == [
        "event: view",
        "event: end",
    ]
    monkeypatch.setattr(live, "STREAMS_MOST", 0)
    event, data, *_ = served.events(path)
    assert event == "event: full"
    assert "other pages follow" in json.loads(data.removeprefix("data: "))


def test_what_only_the_list_shows_is_not_read_for_a_page(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that follows a study asks for it after each point."""
    asked: list[Path] = []
    for name in ("_count", "_measured"):
        monkeypatch.setattr(entries, name, asked.append)
    path = results / NAME
    entry = record.parts(NAME, path, records.seen(path))["entry"]
    assert entry.answer == "12k/s at p99 ≤ 1 ms"
    assert asked == []


def test_records_take_turns_in_a_picture_and_the_rest_is_named(results: Path) -> None:
    known = records.seen(results / NAME)
    run = next(one for one in known.outcomes if one.p99_ns and one.is_believed)
    load = Load(1000.0, (run,))

    def side(letter: str, count: int) -> tuple[str, records.Seen]:
        several = tuple(Curve("s", f"c{at}", (load,)) for at in range(count))
        return f"{letter}/m/r", replace(known, curves=several)

    (one,) = record.plots([side("a", 8), side("b", 2), side("c", 1)])
    names = ["A c0", "B c0", "C c0", "A c1", "B c1", "A c2", "A c3", "A c4"]
    assert [series.name for series in one.series] == names
    assert one.left_out == ("A c5", "A c6", "A c7")
    values = {"title": "", "sides": [], "curves_most": 1, "lines_most": 1}
    text = pages.fragment("sides.html.j2", plots=[one], **values)
    assert "Not drawn, in the table only: A c5; A c6; A c7." in text


def test_curves_differ_without_colours() -> None:
    rule = r"\.c(\d) :is\(polyline, \.swatch line\) \{ stroke-dasharray: ([\d ]+); \}"
    dashes = dict(re.findall(rule, pages.style()))
    assert set(dashes) == {str(at) for at in range(1, plot.SERIES_MOST)}
    assert len(set(dashes.values())) == len(dashes)


def test_a_load_at_which_lost_requests_decide_has_dots_and_no_place_on_the_line(
    results: Path,
) -> None:
    known = records.seen(results / NAME)
    run = next(one for one in known.outcomes if one.p99_ns and one.is_believed)
    run = replace(run, requests=1000, correlation=1.0)
    lost = replace(run, requests=100, lost=50, p99_ns=None)
    loads = (Load(1000.0, (run,)), Load(2000.0, (run, lost, lost)))
    drawn = plot.plot("p99", [plot.Line("a", Curve("a", "", loads))])
    assert drawn is not None
    (one,) = drawn.series
    assert [len(line.split()) for line in one.lines] == [1]
    assert len(one.dots) == 2


def test_a_line_goes_only_through_loads_that_have_a_p99_in_the_report(results: Path) -> None:
    known = records.seen(results / NAME)
    run = next(one for one in known.outcomes if one.p99_ns and one.is_believed)
    run = replace(run, requests=1000, correlation=1.0)
    few = replace(run, requests=300)
    loads = [Load(1e3, (run,)), Load(2e3, (few, few)), Load(3e3, (few,)), Load(4e3, (run,))]
    drawn = plot.plot("p99", [plot.Line("a", Curve("a", "", tuple(loads)))])
    assert drawn is not None
    (one,) = drawn.series
    assert [len(line.split()) for line in one.lines] == [2, 1], "two runs together are enough"
    assert [dot.is_believed for dot in one.dots] == [True, False, False, False, True]
    assert "too few requests: 300" in one.dots[1].words
    values = {"title": "", "sides": [], "curves_most": 1, "lines_most": 1}
    text = pages.fragment("sides.html.j2", plots=[drawn], **values)
    assert text.count("<polyline") == 2


def test_every_page_has_the_version_of_sojourn_below_it(served: Served) -> None:
    """The page of a record had the digest of its note there."""
    for path in ("/", links.record(NAME), f"/sides?r={NAME}", "/r/a/b/c"):
        assert f"<footer><p>Sojourn {__version__}. " in served.ask(path).text, path


def test_no_page_replaces_what_all_templates_share() -> None:
    with pytest.raises(ValueError, match="version"):
        pages.fragment("fault_part.html.j2", version="1")
