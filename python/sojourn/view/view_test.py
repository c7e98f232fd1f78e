"""The view as a browser asks it: who may ask, what is escaped and written."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import tarfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("starlette", reason="needs sojourn[view]")
pytest.importorskip("uvicorn", reason="needs sojourn[view]")

from sojourn import spec, store
from sojourn.browse import entries, notes
from sojourn.browse.index import Index
from sojourn.disk import cache
from sojourn.errors import StoreFault
from sojourn.plan import Verdict, next_point
from sojourn.plan.rehearsal import imagine
from sojourn.samples import made
from sojourn.store.record import OpenRecord
from sojourn.testing_questions import PLANS
from sojourn.view.serving_testing import KEY, Served, serving

GOLDEN = Path(store.__file__).parent / "golden" / "record-1.tar.xz"
NAME = "version_1/m/20261123T031248Z-7d37"
STRANGE = '<img src=x onerror="document.body.dataset.ran=1">\u202e'


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        (tmp_path / variable).mkdir(mode=0o700)
        monkeypatch.setenv(variable, str(tmp_path / variable))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    with tarfile.open(GOLDEN) as packed:
        packed.extractall(folder)  # noqa: S202 - our own; Python 3.11.2 knows no filters
    store.keep_answer(folder / NAME, "holds", "12k/s at p99 ≤ 1 ms", "answered")
    return folder


@pytest.fixture
def served(results: Path) -> Iterator[Served]:
    Index(results).whole()  # a view that begins later finds it in the cache
    with serving(results) as one:
        yield one


#: Head, path, and the status of the answer.
ASKED: tuple[tuple[dict[str, str], str, int], ...] = (
    ({}, "/", 200),
    ({"Host": "localhost:9"}, "/", 200),
    ({"Host": "evil.example"}, "/", 400),
    ({"Host": "127.0.0.1.evil.example"}, "/", 400),
    ({"Host": "[::1"}, "/", 400),
    ({"Cookie": "x=y"}, "/", 403),
    ({"Cookie": "x=y"}, "/?key=wrong", 403),
    ({"Cookie": "x=y"}, f"/r/{NAME}/report", 403),
    ({}, "/r/a/b/c", 404),
    ({}, "/r/../../etc", 404),
    ({}, "/r/..%2f..%2fetc/x/y", 404),
    ({}, f"/r/{NAME}%00", 404),
    ({}, f"/r/{NAME}/points", 404),
    ({}, "/sides", 400),
    ({}, f"/r/{NAME}/runs?service=x&condition=&rps=1", 404),
)


def test_only_who_has_the_key_and_means_this_machine_is_answered(served: Served) -> None:
    answers = [(path, head, served.ask(path, head=head).status) for head, path, _ in ASKED]
    assert answers == [(path, head, status) for head, path, status in ASKED]


def test_the_key_becomes_a_cookie_that_no_script_reads(served: Served) -> None:
    reply = served.ask(f"/?key={KEY}", head={"Cookie": ""})
    assert (reply.status, reply.head["location"]) == (303, "/")
    assert {"HttpOnly", "SameSite=lax"} <= set(reply.head["set-cookie"].split("; "))
    away = served.ask(f"//evil.example/?key={KEY}", head={"Cookie": ""})
    assert (away.status, away.head["location"]) == (303, "/")


def test_every_page_forbids_what_is_not_the_views_own(served: Served) -> None:
    for path in ("/", f"/r/{NAME}", f"/sides?r={NAME}", "/r/a/b/c"):
        reply = served.ask(path)
        rules = dict(
            rule.strip().split(" ", 1) for rule in reply.head["content-security-policy"].split(";")
        )
        assert rules["default-src"] == rules["base-uri"] == "'none'"
        assert rules["frame-ancestors"] == "'self'"
        assert "unsafe" not in reply.head["content-security-policy"]
        assert reply.head["x-content-type-options"] == "nosniff"
        for tag, rule in (("script", "script-src"), ("style", "style-src")):
            (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", reply.text, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert rules[rule] == f"'sha256-{digest}'", path
        assert not re.search(r"\sstyle=|\son[a-z]+=|https?://", reply.text), path
    bare = served.ask("/rows")
    assert "default-src 'none'" in bare.head["content-security-policy"]


def test_what_a_record_says_is_shown_and_never_run(results: Path) -> None:
    strange = results / STRANGE.replace("/", "∕") / "m<b>" / "20260101T000000Z-<i>x"
    shutil.copytree(results / NAME, strange)
    store.keep_answer(strange, STRANGE, STRANGE * 40, STRANGE)
    name = str(strange.relative_to(results))
    notes.keep(name, f"</textarea>{STRANGE}")
    with serving(results) as served:
        Index(results).whole()
        pages = [served.ask(p).text for p in ("/", f"/r/{quote(name)}", f"/sides?r={quote(name)}")]
    for page in pages:
        assert "<img" not in page
        assert "&lt;img" in page
        assert "\u202e" not in page
        assert (
            "<b>"
            not in page.replace("<b>records", "")
            .replace("<b>A</b>", "")
            .replace(f"<b>{name[:0]}", "", 0)
            or "m<b>" not in page
        )


def test_links_and_damaged_records_show_nothing_of_elsewhere(results: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(results / NAME, other / "s/m/r")
    (results / "linked").symlink_to(other / "s")
    (results / "version_1/m/20270101T000000Z-1").symlink_to(other / "s/m/r")
    damaged = results / "version_1/m/20280101T000000Z-2"
    shutil.copytree(results / NAME, damaged)
    for file in damaged.rglob("*.*"):
        if file.is_file():
            file.write_bytes(b"\xff" * 100)
    listed = {entry.name: entry for entry in Index(results).whole()}
    assert set(listed) == {NAME, "version_1/m/20280101T000000Z-2"}
    assert listed["version_1/m/20280101T000000Z-2"].state.startswith("unreadable")
    with serving(results) as served:
        assert served.ask("/r/linked/m/r").status == 404
        assert served.ask("/r/version_1/m/20270101T000000Z-1").status == 404
        assert "cannot be" in served.ask("/r/version_1/m/20280101T000000Z-2").text


def test_a_number_leads_to_its_runs_its_query_and_its_command(
    served: Served, results: Path
) -> None:
    page = served.ask(f"/r/{NAME}").text
    link = re.findall(r'<td><a href="([^"]*/runs[^"]*)"', page)[0].replace("&amp;", "&")
    runs = served.ask(link)
    assert runs.status == 200
    assert "points/00" in runs.text
    query = re.search(r'aria-label="query of these runs"><code>([^<]*)</code>', runs.text)
    assert query is not None
    assert "sojourn sql --results" in query[1]
    assert "12k/s at p99" in page
    shown = served.ask(f"/r/{NAME}/report")
    assert shown.status in {200, 400}  # where pages cannot be drawn it names the package
    if shown.status == 200:
        assert "sandbox allow-scripts" in shown.head["content-security-policy"]
        assert "allow-same-origin" not in shown.head["content-security-policy"]
    del results


def test_looking_writes_nothing_into_the_records(served: Served, results: Path) -> None:
    def state() -> set[tuple[str, int, int]]:
        files = (path for path in results.rglob("*") if path.is_file())
        return {(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in files}

    before = state()
    for path in ("/", "/rows?q=x", "/records.json", f"/r/{NAME}", f"/sides?r={NAME}"):
        assert served.ask(path).status == 200
    assert state() == before


def test_a_note_is_stored_beside_the_records_and_only_from_this_site(
    served: Served, results: Path
) -> None:
    own, body = f"http://127.0.0.1:{served.port}", json.dumps({"text": "<b>warm</b>"}).encode()
    path, site = f"/r/{NAME}/note", {"Origin": own}
    for origin in ("", "http://evil.example", "null", f"https://127.0.0.1:{served.port}"):
        assert served.ask(path, "POST", body, head={"Origin": origin}).status == 403
    assert served.ask(path, "POST", b"[" * 10_000, head=site).status == 404
    assert served.ask(path, "POST", b'{"text": 1}', head=site).status == 404
    assert served.ask(path, "POST", b'"' + b"x" * 100_000, head=site).status == 404
    assert served.ask("/r/a/b/c/note", "POST", body, head=site).status == 404
    assert notes.load(NAME) == ""
    assert served.ask(path, "POST", body, head=site).status == 200
    assert notes.load(NAME) == "<b>warm</b>"
    assert "&lt;b&gt;warm&lt;/b&gt;</textarea>" in served.ask(f"/r/{NAME}").text
    assert "has a note" in served.ask("/rows").text
    (notes.place()).chmod(0o777)
    assert notes.load(NAME) == ""
    with pytest.raises(StoreFault, match="others may write"):
        notes.keep(NAME, "x")
    assert not list(results.rglob("*note*"))


def test_the_list_is_searched_filtered_and_turned_into_pages(results: Path) -> None:
    for at in range(120):
        _light(
            results, f"study_{at % 3}/m{at % 2}/202601{at % 28 + 1:02}T000000Z-{at:04}", f"a{at}"
        )
    Index(results).whole()
    with serving(results) as served:

        def count(query: str) -> int:
            return int(json.loads(served.ask(f"/records.json?{query}").text)["count"])

        assert count("") == 121
        assert count("study=study_1") == 40
        assert count("study=study_1&machine=m0") == 20
        assert count("q=a11+STUDY_2") == 5  # 11, 110, 113, 116, 119
        assert count("since=2026-01-28&until=2026-01-28") == 4
        assert count("verdict=none") == 0
        assert count("factor=none") == 0
        assert count("state=unreadable") == 0
        first, second = served.ask("/rows").text, served.ask("/rows?page=1").text
        assert first.count("<li>") == second.count("<li>") == 50
        assert served.ask("/rows?page=99999999999999999999").status == 200
        assert "More" in first
        assert "Newer" in second
        assert "120 of 121" not in first


def _light(results: Path, name: str, answer: str) -> None:
    """A record of a few lines."""
    path = results / name
    path.mkdir(parents=True)
    manifest = {"schema": "sojourn.record/1", "started": "2026-01-01T00:00:00+00:00"}
    (path / "manifest.json").write_text(json.dumps(manifest))
    (path / "complete.json").write_text("{}")
    store.keep_answer(path, "holds", answer, "answered")


def test_ten_thousand_records_are_read_once_and_then_known_by_their_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a thousand; the time of ten thousand is in docs/howto/view.md."""
    results = tmp_path / "many"
    for at in range(1000):
        _light(results, f"s/m/20260101T000000Z-{at:04}", f"a{at}")
    assert len(Index(results).whole()) == 1000
    read: list[str] = []
    real = entries.read

    def counted(path: Path, name: str) -> entries.Entry:
        read.append(name)
        return real(path, name)

    monkeypatch.setattr(entries, "read", counted)
    again = Index(results)
    assert (len(again.look().entries), again.look().pending, read) == (1000, 0, [])
    store.keep_answer(results / "s/m/20260101T000000Z-0007", "violated", "new", "")
    entry = next(e for e in Index(results).whole() if e.folder.endswith("0007"))
    assert (entry.verdict, read) == ("violated", ["s/m/20260101T000000Z-0007"])
    shutil.rmtree(results / "s/m/20260101T000000Z-0008")
    assert len(Index(results).whole()) == 999


def test_an_index_of_another_form_is_made_anew(results: Path) -> None:
    assert len(Index(results).whole()) == 1
    cache.keep(f"sojourn.index/1 {results.resolve()}", b"damaged")
    assert [entry.points for entry in Index(results).whole()] == [
        len(list((results / NAME / "points").iterdir()))
    ]


def _measured(record: OpenRecord, study: spec.Study, count: int) -> None:
    for _ in range(count):
        point = next_point(study, record.outcomes(), PLANS)
        assert point is not None
        folder = record.folder(point)
        made.put(
            folder, point, made.result([1e5] * 10, job={}, offered_rps=10.0, achieved_rps=10.0)
        )
        outcome = imagine(point)
        if point.offered_rps is not None and len(record.outcomes()) % 3 == 0:
            why = "client stopped: the client did not run for 47 ms: 2.37 % of the time"
            outcome = replace(outcome, verdict=Verdict.UNKNOWN, reasons=(why,))
        record.add(replace(outcome, folder=str(folder)))


def test_a_running_study_is_seen_as_it_goes_on_and_its_end_is_reported(tmp_path: Path) -> None:
    study = spec.load("max_load_memcached", profile="quick")
    results = tmp_path / "results"
    go_on = threading.Event()
    with serving(results) as served:
        record = store.open(results, study, machine="m", manifest={"command": "sojourn run x"})
        with record:
            _measured(record, study, 2)
            name = str(record.path.relative_to(results.absolute()))
            while "data-pending" in (rows := served.ask("/rows").text):
                time.sleep(0.1)  # the test's own time limit ends it
            assert ">running<" in rows
            views = []

            def looked() -> None:
                for line in served.events(f"/r/{quote(name)}/events"):
                    if line.startswith("data: ") and len(line) > len('data: ""'):
                        views.append(json.loads(line[6:]))
                        go_on.set()

            reader = threading.Thread(target=looked, daemon=True)
            reader.start()
            for count in (4, 4):
                assert go_on.wait(60)
                go_on.clear()
                _measured(record, study, count)
            assert go_on.wait(60)
            record.finish()
        reader.join(60)
        assert not reader.is_alive()
    assert "2 points" in views[0]
    assert "10 points" in views[-1]
    assert "client stopped" in views[-1]
    assert "Not being measured now" in views[-1]
    assert any("Highest load within the target" in view for view in views)
