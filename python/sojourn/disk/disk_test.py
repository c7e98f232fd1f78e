"""The doors: nothing planted leads away, nothing half remains, nothing foreign takes all memory."""

from __future__ import annotations

import errno
import json
import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn import disk


@pytest.fixture
def deadline() -> Iterator[None]:
    """What waits for the other end of a pipe fails, and does not hold up the tests."""

    def late(_number: int, _frame: object) -> None:
        raise TimeoutError("it waits for ever")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_new_whole_and_keeps_what_a_link_leads_to(tmp_path: Path) -> None:
    victim, place = tmp_path / "victim", tmp_path / "place"
    victim.write_text("kept")
    place.mkdir()
    (place / "a.json").symlink_to(victim)
    disk.write_text(place / "a.json", "new")
    assert (victim.read_text(), (place / "a.json").read_text()) == ("kept", "new")
    assert names(place) == ["a.json"]


def test_what_is_beside_a_file_while_it_is_written_cannot_be_foreseen(tmp_path: Path) -> None:
    seen: list[str] = []

    def fill(file: IO[bytes]) -> None:
        seen.extend(names(tmp_path))
        file.write(b"x")

    for _ in range(8):
        disk.write_whole(tmp_path / "a", fill)
        (tmp_path / "a").unlink()
    assert len(set(seen)) == 8
    assert all(name != "a" and len(name) > 16 for name in seen)


def test_a_name_that_was_guessed_all_the_same_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda _size: "guessed")
    (tmp_path / ".guessed.part").symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        disk.write_text(tmp_path / "a", "x")
    assert names(tmp_path) == [".guessed.part"]


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_write_that_fails_at_any_step_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    disk.write_text(tmp_path / "a", "old")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    fill = full if call == "write" else lambda file: file.write(b"new")
    if call != "write":
        monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space"):
        disk.write_whole(tmp_path / "a", fill)
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("inside", ["points", "points/0001-x", "figures"])
def test_no_link_inside_of_a_record_is_followed(tmp_path: Path, inside: str) -> None:
    record, elsewhere = tmp_path / "record", tmp_path / "elsewhere"
    (record / inside).parent.mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "secret.json").write_text("{}")
    (record / inside).symlink_to(elsewhere)
    with pytest.raises(OSError, match="link"):
        disk.write_text(record / inside / "a", "x", is_made=True)
    with pytest.raises(OSError, match="link"):
        disk.read_json(record / inside / "secret.json")
    with pytest.raises(OSError, match="link"):
        disk.make_folder(record / inside / "0002-y")
    assert names(elsewhere) == ["secret.json"]


def test_a_record_itself_may_be_named_by_a_link(tmp_path: Path) -> None:
    record = tmp_path / "record"
    (record / "points" / "0001-x").mkdir(parents=True)
    (tmp_path / "newest").symlink_to(record)
    path = tmp_path / "newest/points/0001-x/a"
    disk.write_text(path, "{}")
    assert disk.read_json(path) == {}


def test_a_log_is_never_a_link_a_pipe_or_one_of_two_names(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    (tmp_path / "twin").hardlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "twin", "pipe"):
        with pytest.raises(OSError, match=r"."):
            disk.append(tmp_path / name)
    with disk.append(tmp_path / "log") as log:
        log.write(b"a")
    with disk.append(tmp_path / "log") as log:
        log.write(b"b")
    assert (tmp_path / "log").read_text() == "ab"
    assert (tmp_path / "victim").read_text() == "kept"


@pytest.mark.usefixtures("deadline")
def test_only_plain_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/hostname")
    (tmp_path / "folder").mkdir()
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "link", "folder", "device", "none"):
        with pytest.raises(OSError, match=r"."):
            disk.read_bytes(tmp_path / name, most=10)
        assert not disk.is_plain(tmp_path / name)


def test_size_depth_and_number_of_parts_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for text in ("[" * 200_000, "[" * 65 + "]" * 65, '{"a":' * 65 + "1" + "}" * 65):
        path.write_text(text)
        with pytest.raises(ValueError, match="deeper than 64"):
            disk.read_json(path)
    path.write_text("[" + "[]," * 2_000_000 + "[]]")
    with pytest.raises(ValueError, match="more than 2000000"):
        disk.read_json(path)
    path.write_text("[1, 2]")
    with pytest.raises(ValueError, match="at most 5 are read"):
        disk.read_json(path, most=5)
    assert disk.read_json(path, most=6) == [1, 2]


def test_what_lies_in_texts_is_no_depth(tmp_path: Path) -> None:
    table = {"a": "[" * 500, "b": ['"[[{', "\\", '\\"[', "{" * 99], "c": {"d": [[]]}}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(table))
    assert disk.depth_of(path.read_bytes()) == 4
    assert disk.read_json(path) == table


def test_a_table_of_columns_comes_back_with_its_metadata(tmp_path: Path) -> None:
    table = pa.table(
        {"n": [1, 2, 3], "text": ["a", None, "c"], "list": [[1], [], None]}
    ).replace_schema_metadata({"schema": "x"})
    pq.write_table(table, tmp_path / "a.parquet")
    found = disk.read_columns(tmp_path / "a.parquet", rows=3, values=3)
    assert found.equals(table)
    assert found.schema.metadata[b"schema"] == b"x"
    some = disk.read_columns(tmp_path / "a.parquet", rows=3, values=3, columns=["text"])
    assert some.column_names == ["text"]
    empty = table.slice(0, 0)
    pq.write_table(empty, tmp_path / "b.parquet")
    assert (
        disk.read_columns(tmp_path / "b.parquet", rows=0, values=0).schema.names
        == empty.column_names
    )


def test_a_small_file_that_stands_for_gigabytes_is_refused_before_it_is_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": pa.repeat(pa.scalar(1), 3_000_000)}), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(ValueError, match="3000000 rows, at most 1 are read"):
        disk.read_columns(path, rows=1, values=10)
    one_row = pa.ListArray.from_arrays(
        pa.array([0, 3_000_000], pa.int32()), pa.repeat(pa.scalar(1), 3_000_000)
    )
    pq.write_table(pa.table({"n": one_row}), path)
    with pytest.raises(ValueError, match="3000000 values, at most 10 are read"):
        disk.read_columns(path, rows=1, values=10)
    long = pa.array(["x" * 1_000_000] * 300)
    pq.write_table(pa.table({"text": long}), path)
    assert path.stat().st_size < 100_000
    before = pa.total_allocated_bytes()
    with pytest.raises(ValueError, match="of memory"):
        disk.read_columns(path, rows=300, values=300, most=10_000_000)
    assert pa.total_allocated_bytes() - before < 200_000_000
