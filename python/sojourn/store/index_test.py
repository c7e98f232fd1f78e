"""The copy of all outcomes: it saves reading, and is never believed over the points' own files."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn import disk, store
from sojourn.errors import StoreFault
from sojourn.plan import Outcome, Point, next_point
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import study
from sojourn.store import columns, index
from sojourn.store.named import OUTCOME
from sojourn.store.record import OpenRecord
from sojourn.testing_questions import PLANS

ASKED = study(profile="quick")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The points' own files that were opened, one by one."""
    seen: list[Path] = []
    rows = columns.rows

    def counted(path: Path) -> pa.Table:
        seen.append(path)
        return rows(path)

    monkeypatch.setattr(columns, "rows", counted)
    return seen


def a_point() -> Point:
    point = next_point(ASKED, [], PLANS)
    assert point is not None
    return point


def measure(record: OpenRecord, points: int) -> list[Outcome]:
    """Points of which none is like another."""
    outcomes = []
    for _ in range(points):
        made = len(record.outcomes())
        point = replace(a_point(), key=f"k{made}", repeat=made)
        outcomes.append(record.add(replace(imagine(point), folder=str(record.folder(point)))))
    return outcomes


def whole(results: Path, points: int) -> tuple[Path, list[Outcome]]:
    """A record that was closed as it should be."""
    with store.open(results, ASKED) as record:
        return record.path, measure(record, points)


def test_a_record_is_read_without_opening_its_points(tmp_path: Path, opened: list[Path]) -> None:
    path, retained = whole(tmp_path, 5)
    assert list(store.read(path).outcomes()) == retained
    with store.open(tmp_path, ASKED) as record:
        assert record.path == path
        assert list(record.outcomes()) == retained
    _, rows = store.query(tmp_path, "select count(*), max(repeat) from outcomes")
    assert rows == [(5, 4)]
    assert opened == []


def test_what_a_killed_run_had_not_copied_is_read_from_its_points(
    tmp_path: Path, opened: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "WRITE_EVERY", 3)
    with store.open(tmp_path, ASKED) as record:  # still open: the disk is as after kill -9
        outcomes = measure(record, 7)
        assert list(store.read(record.path).outcomes()) == outcomes
        assert [path.parent.name[:4] for path in opened] == ["0007"]
        _, rows = store.query(tmp_path, "select count(*) from outcomes")
    assert rows == [(7,)]


def test_a_record_that_has_no_copy_gets_one_when_it_goes_on(
    tmp_path: Path, opened: list[Path]
) -> None:
    path, retained = whole(tmp_path, 3)
    (path / index.NAME).unlink()
    for _ in range(2):
        with store.open(tmp_path, ASKED) as record:
            assert list(record.outcomes()) == retained
    assert len(opened) == 3


def test_the_points_own_files_win(tmp_path: Path, opened: list[Path]) -> None:
    path, retained = whole(tmp_path, 4)
    own = store.read(path)
    shutil.rmtree(own.folder_of(retained[1]))
    changed = replace(retained[2], achieved_rps=1.0)
    pq.write_table(columns.to_table(changed), own.folder_of(retained[2]) / OUTCOME)
    assert list(own.outcomes()) == [retained[0], changed, retained[3]]
    assert len(opened) == 1


@pytest.mark.parametrize("content", [b"nonsense", b"", None])
def test_without_a_copy_that_can_be_read_nothing_is_lost(
    tmp_path: Path, content: bytes | None
) -> None:
    path, retained = whole(tmp_path, 3)
    if content is None:
        pq.write_table(pa.table({"of": ["another form"]}), path / index.NAME)
    else:
        (path / index.NAME).write_bytes(content)
    assert list(store.read(path).outcomes()) == retained
    with store.open(tmp_path, ASKED) as record:
        retained += measure(record, 1)
    assert list(store.read(path).outcomes()) == retained


def test_a_copy_that_takes_more_memory_than_there_is_costs_no_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forged copy may say that it holds gigabytes; its points are small."""
    path, retained = whole(tmp_path, 2)
    read = disk.read_columns

    def greedy(file: Path, **how: Any) -> pa.Table:
        if file.name == index.NAME:
            raise disk.no_memory(file)
        return read(file, **how)

    monkeypatch.setattr(disk, "read_columns", greedy)
    assert len(store.read(path).outcomes()) == len(retained)


def test_points_keep_their_order_beyond_four_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "WRITE_EVERY", 2)
    path, retained = whole(tmp_path, 1)
    folder = path / retained[0].folder
    folder.rename(path / "points" / "9998-late")
    with store.open(tmp_path, ASKED) as record:
        retained += measure(record, 3)
    names = [Path(o.folder).name[:6] for o in retained[1:]]
    assert names == ["9999-k", "10000-", "10001-"]
    assert [o.point.key for o in store.read(path).outcomes()] == [o.point.key for o in retained]


def test_a_new_folder_does_not_look_at_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.open(tmp_path, ASKED) as record:
        measure(record, 2)
        looked: list[Path] = []
        monkeypatch.setattr(Path, "iterdir", looked.append)
        record.folder(a_point())
    assert not looked


def test_a_copy_that_cannot_be_written_costs_no_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, table: pa.Table) -> None:
        raise StoreFault("the disk is full", at=str(path), fix="")

    monkeypatch.setattr(index, "write", full)
    path, retained = whole(tmp_path, 2)
    assert not (path / index.NAME).exists()
    assert list(store.read(path).outcomes()) == retained


def test_a_copy_of_before_points_had_rules_is_read_and_they_follow_from_the_phase(
    tmp_path: Path, opened: list[Path]
) -> None:
    path, retained = whole(tmp_path, 3)
    copy = path / index.NAME
    table = pq.read_table(copy)
    assert retained[0].point.rules.is_stated
    pq.write_table(table.drop_columns(["rules"]), copy)
    outcomes = store.read(path).outcomes()
    assert [one.point.rules.is_stated for one in outcomes] == [False] * 3
    assert [PLANS.known(one) for one in outcomes] == retained
    assert opened == []
