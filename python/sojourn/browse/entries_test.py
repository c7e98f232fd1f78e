"""A list says of a record what its page says."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from sojourn import store
from sojourn.browse import entries, records
from sojourn.plan import Point, next_point
from sojourn.plan.points import Course, Phase
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import study
from sojourn.store import columns
from sojourn.store.record import OpenRecord
from sojourn.testing_questions import PLANS

ASKED = study(profile="quick")
NAME = "s/m/r"


def a_point(at: int) -> Point:
    point = next_point(ASKED, [], PLANS)
    assert point is not None
    return replace(point, key=f"k{at}", repeat=at)


def measure(record: OpenRecord, count: int) -> None:
    for _ in range(count):
        point = a_point(len(record.outcomes()))
        record.add(replace(imagine(point), folder=str(record.folder(point))))


def test_points_are_counted_as_the_records_page_counts_them(tmp_path: Path) -> None:
    """The copy of all outcomes is as old as the resume, and a folder is begun before it counts."""
    with store.open(tmp_path, ASKED) as record:
        measure(record, 3)
        record.folder(a_point(9))
        assert entries.read(record.path, NAME).points == 3, "there is no copy yet"
    with store.open(tmp_path, ASKED) as record:
        measure(record, 2)
        record.folder(a_point(9))
        assert entries.read(record.path, NAME).points == 5
        assert len(records.seen(record.path).outcomes) == 5


def test_only_the_point_that_came_is_read_when_a_record_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    rows = columns.rows

    def noted(path: Path) -> pa.Table:
        read.append(path.parent.name)
        return rows(path)

    monkeypatch.setattr(columns, "rows", noted)
    with store.open(tmp_path, ASKED) as record:
        for count in (3, 1, 2):
            measure(record, count)
            read.clear()
            assert len(records.seen(record.path).outcomes) == len(record.outcomes())
            assert len(read) == count


def test_a_point_that_was_copied_counts_once(tmp_path: Path) -> None:
    with store.open(tmp_path, ASKED) as record:
        measure(record, 3)
        folder = record.folder_of(record.outcomes()[0])
    shutil.copytree(folder, folder.with_name(f"{folder.name}-copy"))
    assert entries.read(record.path, NAME).points == 3
    assert len(records.seen(record.path).outcomes) == 3


def test_without_what_only_a_list_shows_an_entry_says_the_same(tmp_path: Path) -> None:
    with store.open(tmp_path, ASKED, manifest={"command": "sojourn run x"}) as record:
        measure(record, 2)
        store.keep_answer(record.path, "holds", "an answer", "answered")
        whole = entries.read(record.path, NAME)
        short = entries.read(record.path, NAME, is_listed=False)
    assert (whole.points, whole.answer) == (2, "an answer")
    assert short == replace(whole, points=0, factors=(), spark=())


def test_a_run_that_is_not_steady_is_not_drawn() -> None:
    loads = ((1e4, Course.STEADY), (2e4, Course.MOVES), (3e4, Course.STEADY))
    outcomes = [
        replace(imagine(replace(a_point(0), phase=Phase.SEARCH, offered_rps=rps)), course=course)
        for rps, course in loads
    ]
    drawn = entries.spark(pa.concat_tables(map(columns.to_table, outcomes)))
    assert [x for x, _ in drawn] == [33, 100]
