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
from sojourn.store import columns, copied, index
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


@pytest.mark.parametrize("name", ["{}-copy", "backup-{}", "9999-{key}", "9999-x", "0000"])
@pytest.mark.parametrize("has_copy_of_all", [True, False])
def test_a_folder_that_was_copied_is_named_and_not_counted(
    tmp_path: Path, name: str, *, has_copy_of_all: bool
) -> None:
    """`cp -r points/X points/X-copy` made of four runs five, and of one load's runs twins."""
    path, own = whole(tmp_path, 4)
    folder = store.read(path).folder_of(own[1])
    twin = name.format(folder.name, key=folder.name.partition("-")[2])
    shutil.copytree(folder, folder.with_name(twin))
    if not has_copy_of_all:
        (path / index.NAME).unlink()
    assert list(store.read(path).outcomes()) == own
    assert index.copies(path) == (twin,)
    assert index.counted(path) == 4
    (one,) = store.listed(tmp_path)
    assert (one.points, one.copies) == (4, (twin,))
    named: list[tuple[Path, str]] = []
    _, rows = store.query(
        tmp_path,
        "select count(*) from outcomes",
        on_fault=lambda at, fault: named.append((at, fault.what)),
    )
    assert rows == [(4,)]
    assert named == [(path / "points" / twin, "it is a copy of another point")]
    assert store.query(tmp_path, "select count(*) from points")[1] == [(4,)]
    with store.open(tmp_path, ASKED) as record:
        assert list(record.outcomes()) == own
        own += measure(record, 1)
    assert list(store.read(path).outcomes()) == own


def test_a_list_has_no_point_more_for_a_copy_and_names_it(tmp_path: Path) -> None:
    path, own = whole(tmp_path, 3)
    folder = store.read(path).folder_of(own[2])
    shutil.copytree(folder, folder.with_name(f"{folder.name} (copy)"))
    (one,) = store.listed(tmp_path)
    assert (one.points, one.copies) == (3, (f"{folder.name} (copy)",))


def test_a_folder_that_was_renamed_is_no_copy(tmp_path: Path) -> None:
    path, own = whole(tmp_path, 3)
    folder = store.read(path).folder_of(own[1])
    folder.rename(folder.with_name("0002-of-mine"))
    assert index.copies(path) == ()
    assert len(index.rows(path)) == index.counted(path) == 3


def test_of_two_copies_whose_own_folder_is_gone_one_counts(tmp_path: Path) -> None:
    path, own = whole(tmp_path, 3)
    folder = store.read(path).folder_of(own[1])
    shutil.copytree(folder, folder.with_name("0017-other"))
    folder.rename(folder.with_name("0002-of-mine"))
    assert index.copies(path) == ("0017-other",)
    assert len(index.rows(path)) == index.counted(path) == 3


def test_points_of_one_size_are_read_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def digest(file: Path) -> bytes:
        read.append(file.parent.name)
        return b""

    monkeypatch.setattr(copied, "_digest", digest)
    for name, size in (("0001-a", 5), ("0002-b", 6), ("0003-c", 6)):
        (tmp_path / name).mkdir()
        (tmp_path / name / OUTCOME).write_bytes(b"x" * size)
    assert not copied.may_be(tmp_path, ["0001-a", "0002-b"])
    assert read == []
    assert copied.may_be(tmp_path, ["0001-a", "0002-b", "0003-c"])
    assert read == ["0002-b", "0003-c"]


def test_a_forged_copy_of_all_outcomes_ends_no_list(tmp_path: Path) -> None:
    path, own = whole(tmp_path, 3)
    folder = store.read(path).folder_of(own[2])
    shutil.copytree(folder, folder.with_name(f"{folder.name}-copy"))
    table = index._copied(path)
    at = table.column_names.index("folder")
    for column in ([7, 8, 9], [None] * 3, [b"a/b"] * 3):
        index.write(path, table.set_column(at, "folder", pa.array(column)))
        (one,) = store.listed(tmp_path)
        assert one.study == "max_load_memcached"
