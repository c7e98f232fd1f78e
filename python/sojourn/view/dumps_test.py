"""Dumps of the black box in the view: listed, shown, escaped, refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs the extra view")
pytest.importorskip("uvicorn", reason="needs the extra view")

from sojourn.errors import SpecFault
from sojourn.importers import ring_dump
from sojourn.importers.testing import content
from sojourn.view import dumps
from sojourn.view.serving_testing import ROOT, Served, own_folders, serving

NAME = "ring-20261127T010832Z-001.json"
STRANGE = '<img src=x onerror="document.body.dataset.ran=1">\u202e\x1b[2J'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the black box leaves it, with a dump that was taken beside memcached."""
    own_folders(tmp_path, monkeypatch)
    place = tmp_path / "dumps"
    place.mkdir(mode=0o700)
    (place / NAME).write_bytes(content("ring.json"))
    for end in (".perfetto.json", ".otlp.jsonl", ".windows.json"):
        (place / NAME.replace(".json", end)).write_text("{}")
    return place


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    with serving(folder) as one:
        yield one


def put(folder: Path, **other: Any) -> str:
    """A newer dump with other parts."""
    name = "ring-20261128T000000Z-002.json"
    (folder / name).write_text(json.dumps(json.loads(content("ring.json")) | other))
    return name


def test_the_list_has_dumps_and_none_of_their_other_files(served: Served, folder: Path) -> None:
    other = folder.parent / NAME
    other.write_bytes(content("ring.json"))
    (folder / "ring-20261127T020000Z-001.json").symlink_to(other)
    text = served.ask("/").text
    assert text.count("/dump/") == 1
    assert f'href="{ROOT}/dump/{NAME}"' in text
    assert "2026-11-27 01:08:32 UTC" in text
    assert served.ask("/dump/ring-20261127T020000Z-001.json").status == 404


def test_a_dump_is_a_page_with_causes_stages_and_seconds(served: Served) -> None:
    reply = served.ask(f"/dump/{NAME}")
    assert reply.status == 200
    for wanted in (
        "49 of 1110 requests in 2.22 s took 5.01 ms or longer",
        "run-queue delay behind `python`",
        "13.3 ms",
        "runq_delay 13.1 ms",
        "01:08:32.255",
        f"sojourn show {NAME}",
    ):
        assert wanted in reply.text, wanted
    assert reply.text.count("<rect") >= 78
    assert "unsafe" not in reply.head["content-security-policy"]
    assert " style=" not in reply.text


def test_what_a_dump_says_is_shown_and_never_run(served: Served, folder: Path) -> None:
    document = json.loads(content("ring.json"))
    document["culprits"][0] |= {"about": STRANGE, "cgroup": STRANGE, "stack": [STRANGE]}
    document["slow"][0] |= {"thread": STRANGE}
    document["slow"][0]["stages"][0][0] = STRANGE
    document["target"]["name"] = STRANGE
    document |= {"answer": STRANGE, "warnings": [STRANGE], "signals": [SIGNAL | {"from": STRANGE}]}
    text = served.ask(f"/dump/{put(folder, **document)}").text
    assert "<img" not in text
    assert "&lt;img" in text
    assert "\u202e" not in text
    assert "\x1b" not in text


SIGNAL = {"at_unix_ns": 1_795_741_712_000_000_000, "number": 9, "pid": 7, "from_pid": 8}


def test_seconds_are_a_line_where_two_are_known(served: Served, folder: Path) -> None:
    seconds = [
        {"end_unix_ns": (1_795_741_712 + at) * 10**9, "requests": 9, "p99_ns": ns, "max_ns": ns}
        for at, ns in enumerate((10**5, 10**6, 10**7))
    ]
    text = served.ask(f"/dump/{put(folder, seconds=seconds)}").text
    assert 'points="0.0,1000.0 500.0,500.0 1000.0,0.0"' in text
    assert "A second has 9 requests. Where there are fewer than 100, it is" in text
    many = [{**one, "requests": 1000 + at} for at, one in enumerate(seconds)]
    text = served.ask(f"/dump/{put(folder, seconds=many)}").text
    assert "A second has 1,000 to 1,002 requests." in text
    assert "fewer than 100" not in text
    empty = put(folder, seconds=[], slow=[], culprits=[], requests=0, totals=[])
    text = served.ask(f"/dump/{empty}").text
    assert "No request was slow." in text
    assert "<polyline" not in text


def test_a_time_of_next_to_nothing_makes_no_picture_impossible(
    served: Served, folder: Path
) -> None:
    """5e-324 is the least number that JSON can hold: the decade below it is 0."""
    seconds = [
        {"end_unix_ns": (1_795_741_712 + at) * 10**9, "requests": 9, "p99_ns": ns, "max_ns": ns}
        for at, ns in enumerate((5e-324, 10**5, 10**7))
    ]
    document = json.loads(content("ring.json"))
    document["slow"] = [document["slow"][0] | {"total_ns": 5e-324, "stages": [["run", 1.0]]}]
    document["slow"][0] |= {"culprits": []}
    reply = served.ask(f"/dump/{put(folder, seconds=seconds, slow=document['slow'])}")
    assert reply.status == 200
    assert 'points="0.0,1000.0 1000.0,0.0"' in reply.text
    assert 'width="0.0"' in reply.text
    reply = served.ask(f"/dump/{put(folder, seconds=seconds[:2])}")
    assert (reply.status, "<polyline" in reply.text) == (200, False), "one second alone has a time"


@pytest.mark.parametrize(
    ("raw", "status", "what"),
    [
        (content("ring.json")[:5_000], 404, "no JSON that can be read"),
        (b"[" * 100_000, 404, "no JSON that can be read"),
        (b"{}", 400, "no dump of the black box"),
        (b'{"schema":"sojourn.trace.ring/1"}', 400, "target is missing"),
    ],
)
def test_a_damaged_dump_is_refused_and_the_view_goes_on(
    served: Served, folder: Path, raw: bytes, status: int, what: str
) -> None:
    (folder / NAME).write_bytes(raw)
    reply = served.ask(f"/dump/{NAME}")
    assert (reply.status, what in reply.text) == (status, True), reply.text
    assert served.ask("/").status == 200


def test_no_name_leads_elsewhere(served: Served, folder: Path) -> None:
    (folder.parent / "ring-20261127T010832Z-009.json").write_bytes(content("ring.json"))
    for path in (
        "/dump/../ring-20261127T010832Z-009.json",
        "/dump/..%2fring-20261127T010832Z-009.json",
        f"/dump/{NAME}%00",
        "/dump/x",
    ):
        assert served.ask(path).status == 404, path


def test_a_huge_dump_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "WHOLE_BYTES", 1_000)
    with pytest.raises(Exception, match="at most 1000 are read"):
        dumps.read(folder / NAME)


def test_a_file_of_another_name_or_content_is_refused(folder: Path) -> None:
    other = folder / "k6.json"
    other.write_bytes(content("ring.json"))
    with pytest.raises(SpecFault, match="ring-TIME-NUMBER"):
        dumps.check(other)
    (folder / NAME).write_text("{}")
    with pytest.raises(SpecFault, match="no dump"):
        dumps.check(folder / NAME)


def test_a_bar_is_as_long_as_its_time_beside_the_slowest() -> None:
    dump = ring_dump.of(json.loads(content("ring.json")), NAME)
    stages = dumps.stages_of(dump)
    for one in dump.slow:
        made = dumps.bars(one, stages, dump.slow[0].total_ns)
        end = made[-1].x + made[-1].width
        assert end == pytest.approx(1000 * one.total_ns / dump.slow[0].total_ns, abs=0.1)
