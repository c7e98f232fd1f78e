"""The list of all records: their order, and what is read again."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import store
from sojourn.browse import choose, entries, index
from sojourn.browse.index import Index
from sojourn.disk import cache
from sojourn.plan import next_point
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import study
from sojourn.testing_questions import PLANS

ASKED = study(profile="quick")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the records that are read, not those that were known."""
    seen: list[str] = []
    real = entries.read

    def counted(path: Path, name: str) -> entries.Entry:
        seen.append(name)
        return real(path, name)

    monkeypatch.setattr(entries, "read", counted)
    return seen


def made(results: Path, folder: str, started: str = "2026-01-01T00:00:00+00:00") -> str:
    """A complete record of a few lines; its name."""
    path = results / "s" / "m" / folder
    path.mkdir(parents=True)
    (path / "manifest.json").write_text(
        json.dumps({"schema": "sojourn.record/1", "started": started})
    )
    (path / "complete.json").write_text("{}")
    return f"s/m/{folder}"


def test_the_first_of_a_list_is_the_one_that_began_last(results: Path) -> None:
    old = made(results, "zz-baseline", "2025-01-01T00:00:00+00:00")
    usual = made(results, "20260101T000000Z-0001")
    new = made(results, "a-new-name", "2026-02-01T00:00:00+00:00")
    every = Index(results).whole()
    assert [entry.name for entry in every] == [new, usual, old]
    for wanted, names in (
        (choose.Wanted(since="2026-02-01"), [new]),
        (choose.Wanted(until="2025-12-31"), [old]),
    ):
        assert [entry.name for entry in choose.chosen(every, wanted)] == names


def test_the_outcome_of_the_last_point_is_seen_though_no_folder_above_it_changes(
    results: Path,
) -> None:
    with store.open(results, ASKED) as record:
        point = next_point(ASKED, [], PLANS)
        assert point is not None
        folder = record.folder(point)
        (entry,) = Index(results).whole()
        assert (entry.points, entry.state) == (0, entries.RUNNING)
        record.add(replace(imagine(point), folder=str(folder)))
        (entry,) = Index(results).whole()
        assert entry.points == 1


def test_what_is_known_is_not_read_again_also_under_a_name_of_any_bytes(
    results: Path, read: list[str]
) -> None:
    names = {made(results, os.fsdecode(b"a\xff")), made(results, "a?")}
    for _ in range(2):
        assert {entry.name for entry in Index(results).whole()} == names
    assert sorted(read) == sorted(names)


def test_what_cannot_be_read_is_tried_again(results: Path, read: list[str]) -> None:
    """Why not may pass without any change of the record."""
    name = made(results, "20260101T000000Z-0001")
    (results / name / "manifest.json").write_text("{")
    for _ in range(2):
        (entry,) = Index(results).whole()
        assert entry.state.startswith("unreadable")
    assert read == [name, name]


@pytest.mark.parametrize("part", [".", "manifest.json", "answer.json", "outcomes.parquet"])
def test_a_record_that_others_may_read_now_is_another_one(results: Path, part: str) -> None:
    path = results / made(results, "20260101T000000Z-0001")
    for name in ("answer.json", "outcomes.parquet"):
        (path / name).touch()
    before, file = index.stamp(path), path / part
    changed_ns = file.stat().st_ctime_ns
    while file.stat().st_ctime_ns == changed_ns:  # until the clock of files ticks
        file.chmod(0o755)
    assert index.stamp(path) != before


def test_a_look_asks_once_for_each_file_of_a_record(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = made(results, "20260101T000000Z-0001")
    asked: list[str] = []
    real = os.lstat

    def counted(path: str) -> os.stat_result:
        asked.append(path)
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "lstat", counted)
        assert [one for one, _ in index.scan(results)] == [name]
    assert str(results / name / "manifest.json") in asked
    assert len(asked) == len(set(asked))


def test_a_stored_index_that_is_damaged_is_made_anew(results: Path, read: list[str]) -> None:
    name = made(results, "20260101T000000Z-0001")
    Index(results).whole()
    cache.keep(f"{index.FORM} {results.resolve()}", b"damaged")
    assert [entry.name for entry in Index(results).whole()] == [name]
    assert read == [name, name]
