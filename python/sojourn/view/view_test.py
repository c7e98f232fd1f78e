"""The view as a browser asks it: what is shown, escaped and written."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("starlette", reason="needs the extra view")
pytest.importorskip("uvicorn", reason="needs the extra view")

from sojourn import spec, store
from sojourn.browse import entries, notes
from sojourn.browse.index import Index
from sojourn.errors import StoreFault
from sojourn.plan import Verdict, next_point
from sojourn.plan.rehearsal import imagine
from sojourn.samples import made
from sojourn.store.record import OpenRecord
from sojourn.testing_questions import PLANS
from sojourn.view.serving_testing import NAME, ROOT, Served, own_folders, serving, unpacked

STRANGE = '<img src=x onerror="document.body.dataset.ran=1">\u202e'


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_folders(tmp_path, monkeypatch)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return unpacked(tmp_path)


@pytest.fixture
def served(results: Path) -> Iterator[Served]:
    Index(results).whole()  # a view that begins later finds it in the cache
    with serving(results) as one:
        yield one


#: Path, and the status of the answer.
ASKED = (
    ("/r/a/b/c", 404),
    (f"/r/{NAME}/", 404),  # no redirect leads to an address without the key
    ("/r/../../etc", 404),
    ("/r/..%2f..%2fetc/x/y", 404),
    (f"/r/{NAME}%00", 404),
    (f"/r/{NAME}/points", 404),
    ("/sides", 400),
    (f"/r/{NAME}/runs?service=x&condition=&rps=1", 404),
)


def test_a_name_leads_to_a_record_and_nowhere_else(served: Served) -> None:
    assert [(path, served.ask(path).status) for path, _ in ASKED] == list(ASKED)


def test_every_link_of_a_page_has_the_key_and_leads_to_a_page(served: Served) -> None:
    for path in ("/", f"/r/{NAME}", f"/sides?r={NAME}", "/r/a/b/c"):
        page = served.ask(path).text
        links = set(re.findall(r'(?:href|action|data-(?:to|src|events))="([^"]*)"', page))
        own = {link.replace("&amp;", "&") for link in links if link not in {"data:,", "#main"}}
        assert own
        for link in own:
            assert link.startswith(f"{ROOT}/"), (path, link)
        for link in {link for link in own if not link.endswith(("/note", "/report", "/sides"))}:
            assert served.ask(link, root="").status == 200, (path, link)


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
    runs = served.ask(link, root="")
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
        assert first.count("<li data-key=") == second.count("<li data-key=") == 50
        assert served.ask("/rows?page=99999999999999999999").status == 200
        assert "Next page" in first
        for order in ("newest", "oldest", "study"):
            assert "Previous page" in served.ask(f"/rows?page=1&order={order}").text
            assert "Newer" not in served.ask(f"/rows?page=1&order={order}").text
        assert "120 of 121" not in first
        assert "2026-01-01 00:00 UTC" in second
        page = served.ask("/").text
        assert "<span>From (UTC)</span>" in page
        assert "<span>To (UTC)</span>" in page


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
                for view in served.views(f"/r/{quote(name)}/events"):
                    views.append(view)
                    go_on.set()

            reader = threading.Thread(target=looked, daemon=True)
            reader.start()
            for count in (4, 4):
                assert go_on.wait(60)
                go_on.clear()
                _measured(record, study, count)
            assert go_on.wait(60)
            store.keep_answer(record.path, "holds", "the newest answer", "")
            record.finish()
        reader.join(60)
        assert not reader.is_alive()
    assert "2 points" in views[0]
    assert "10 points" in views[-1]
    assert "client stopped" in views[-1]
    assert "Not being measured now" in views[-1]
    assert "<h1>No report yet</h1>" in views[0]
    assert "<h1>the newest answer</h1>" in views[-1]
    assert "<tr data-key=" in views[-1], "numbers are followed, too"
    assert f'href="{ROOT}/r/' in views[-1], "links of what is followed have the key, too"
    assert any("Highest load within the target" in view for view in views)
