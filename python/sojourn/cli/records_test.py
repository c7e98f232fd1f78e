"""`sojourn ls` and `rm` as typed: what is chosen, asked and refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sojourn import pipeline, spec, store
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.report import testing


@pytest.fixture
def records(tmp_path: Path) -> list[Path]:
    """Three records: two of one study, one of them 40 days old."""
    made: list[Path] = []
    for study, days in (("selfcheck", 40), ("selfcheck", 0), ("max_load_memcached", 0)):
        asked = spec.load(study, profile="quick")
        with store.open(tmp_path, asked, resume=False, machine="vm") as opened:
            pass
        began = datetime.now(UTC) - timedelta(days=days)
        manifest = json.loads((opened.path / "manifest.json").read_text())
        manifest["started"] = began.isoformat(timespec="seconds")
        (opened.path / "manifest.json").write_text(json.dumps(manifest))
        name = f"{began:%Y%m%dT%H%M%SZ}-{len(made):04d}"
        made.append(opened.path.rename(opened.path.with_name(name)))
    return made


def rm(results: Path, *arguments: str) -> int:
    return main(["rm", *arguments, "--results", str(results)])


def left(results: Path) -> set[Path]:
    return set(store.records(results))


def test_ls_shows_records_in_80_columns(
    records: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ls", "--results", str(tmp_path)]) == Exit.OK
    out = capsys.readouterr().out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert "3 records" in out
    assert "unfinished" in out
    assert "latency_vs_load" in out
    assert main(["ls", "--json", "--results", str(tmp_path)]) == Exit.OK
    result = json.loads(capsys.readouterr().out)["records"]
    assert [r["path"] for r in result] == sorted((str(p) for p in records), reverse=True, key=name)
    assert {"study", "machine", "started", "verdict", "points", "size_bytes"} <= set(result[0])


def name(path: str) -> str:
    return Path(path).name


def test_rm_removes_what_is_named_and_says_what_became_free(
    records: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rm(tmp_path, records[0].name, str(records[2]), "--yes") == Exit.OK
    seen = capsys.readouterr()
    assert seen.out.split() == [str(records[0]), str(records[2])]
    assert "removed: 2 records" in seen.err
    assert left(tmp_path) == {records[1]}


def test_rm_by_age(records: list[Path], tmp_path: Path) -> None:
    assert rm(tmp_path, "--older-than", "30d", "--yes") == Exit.OK
    assert left(tmp_path) == set(records[1:])
    assert rm(tmp_path, "selfcheck", "--older-than", "0s", "--yes") == Exit.OK
    assert left(tmp_path) == {records[2]}


@pytest.mark.parametrize("started", ["x", "9999-12-31T23:59:59-23:59", "0001-01-01", 7, "\0", None])
def test_rm_by_age_keeps_a_record_that_says_no_time_and_removes_the_old_ones(
    records: list[Path], tmp_path: Path, started: object
) -> None:
    """One that somebody else has written ends no command."""
    manifest = records[1] / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "started": started}))
    assert rm(tmp_path, "--older-than", "30d", "--yes") == Exit.OK
    assert left(tmp_path) - {records[1]} == {records[2]}
    assert (records[1] in left(tmp_path)) == (started != "0001-01-01")


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        ((), Exit.USAGE, "no record is named"),
        (("selfcheck", "--yes"), Exit.USAGE, "fits 2 records"),
        (("max_load",), Exit.USAGE, "there is no terminal"),
        (("nothing", "--yes"), Exit.FAILED, "there is no record 'nothing'"),
        (("/etc", "--yes"), Exit.FAILED, "there is no record '/etc'"),
        (("", "--yes"), Exit.FAILED, "there is no record ''"),
        (("--older-than", "soon"), Exit.USAGE, "'soon' is not a time"),
        (("--older-than", "1e999d", "--yes"), Exit.USAGE, "'1e999d' is not a time"),
        (("--older-than", "nand", "--yes"), Exit.USAGE, "'nand' is not a time"),
        (("--older-than=-1d", "--yes"), Exit.USAGE, "'-1d' is not a time"),
        (("--older-than", "30", "--yes"), Exit.USAGE, "'30' is not a time"),
    ],
)
def test_what_is_not_clear_removes_nothing(
    arguments: tuple[str, ...],
    code: Exit,
    what: str,
    records: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert rm(tmp_path, *arguments) == code
    assert what in capsys.readouterr().err
    assert left(tmp_path) == set(records)


def test_one_that_is_being_measured_stops_all(
    records: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with store.open(tmp_path, spec.load("selfcheck", profile="full"), machine="vm") as opened:
        assert rm(tmp_path, records[0].name, opened.path.name, "--yes") == Exit.FAILED
    assert "being measured" in capsys.readouterr().err
    assert left(tmp_path) == {*records, opened.path}


@pytest.mark.parametrize("option", ["-o", "--out"])
@pytest.mark.parametrize(("name_", "begins"), [("page.html", "<!doctype html"), ("a.json", "{")])
def test_a_report_goes_into_the_one_file_that_is_named(
    records: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    option: str,
    name_: str,
    begins: str,
) -> None:
    monkeypatch.setattr(pipeline, "findings_of", lambda _path: testing.findings())
    before = sorted(records[2].rglob("*"))
    file = tmp_path / name_
    assert main(["report", str(records[2]), option, str(file)]) == Exit.OK
    assert capsys.readouterr().out.splitlines() == [str(file)]
    assert file.read_text("utf-8")[:20].lower().startswith(begins)
    assert sorted(records[2].rglob("*")) == before
    (tmp_path / "x.html").mkdir()
    words = ["report", str(records[2]), option, str(tmp_path / "no" / "x.html")]
    assert main(words) == Exit.USAGE


def test_a_folder_named_like_markup_is_listed_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the library that draws, `[x]` is a style and `[/x]` ends one."""
    monkeypatch.setenv("COLUMNS", "500")
    results = tmp_path / "a[x][" / "b]"
    results.mkdir(parents=True)
    assert main(["ls", "--results", str(results)]) == Exit.OK
    assert "a[x][/b] yet" in capsys.readouterr().out
    with store.open(results, spec.load("selfcheck", profile="quick"), resume=False, machine="vm"):
        pass
    assert main(["ls", "--results", str(results)]) == Exit.OK
    assert "a[x][/b]: " in capsys.readouterr().out
