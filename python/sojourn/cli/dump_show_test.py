"""`sojourn show` of a dump of the black box, as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.importers.testing import content

NAME = "ring-20261127T010832Z-001.json"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / NAME).write_bytes(content("ring.json"))
    return tmp_path / NAME


def test_slow_requests_causes_and_what_lacks_are_printed(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(path)]) == Exit.OK
    out = " ".join(capsys.readouterr().out.split())
    for wanted in (
        "memcached (17897): 49 of 1110 requests",
        "dumped because a request from port 46728 took 8.49 ms",
        "80% run-queue delay behind `python`",
        "13.3 ms 01:08:32.255 mc-worker 17900 runq_delay 13.1 ms, running 216 µs",
        "78 slow requests are stored singly, 20 are shown; 0.00% of those from 5.01 ms on lack",
    ):
        assert wanted in out, wanted


def test_json_has_the_same_requests(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(path), "--json"]) == Exit.OK
    result = json.loads(capsys.readouterr().out)
    assert result["schema"] == "sojourn.dump/1"
    assert result["stored"] == 78
    assert result["slow"][0]["stages"][1] == ["runq_delay", 13_051_025.0]
    assert result["slow"][0]["culprits"][0][0]["name"] == "python"


def test_names_cannot_reach_the_terminal_as_they_are(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(content("ring.json"))
    document["culprits"][0]["about"] = document["slow"][0]["thread"] = "\x1b[2J[red]\u202e"
    path.write_text(json.dumps(document))
    assert main(["show", str(path)]) == Exit.OK
    out = capsys.readouterr().out
    assert "\x1b[2J" not in out
    assert "\u202e" not in out
    assert "[red]" in out


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"", "this is no JSON"),
        (content("ring.json")[:9_000], "no JSON"),
        (b"\xff" * 99, "no JSON"),
        (b"{}", "no dump of the black box"),
    ],
)
def test_a_file_that_is_no_whole_dump_is_refused(
    path: Path, raw: bytes, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_bytes(raw)
    assert main(["show", str(path)]) == Exit.USAGE
    err = capsys.readouterr().err
    assert what in err
    assert "fix:" in err


def test_an_export_of_a_dump_leads_to_what_can_do_it(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(path), "--export", "html=x.html"]) == Exit.USAGE
    assert "sojourn open FILE --export" in capsys.readouterr().err
