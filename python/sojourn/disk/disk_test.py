"""The doors: nothing planted leads away, nothing half remains, nothing foreign takes all memory."""

from __future__ import annotations

import errno
import json
import os
import secrets
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn import disk
from sojourn.damage_testing import nested
from sojourn.disk import foreign, tables
from sojourn.errors import RunFault


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


def test_what_is_as_deep_and_as_long_as_may_be_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("[" * 64 + "]" * 64)
    assert disk.read_json(path)
    path.write_text("one\ntwo!\n")
    assert disk.read_text(path, most=9) == disk.read_named(path, most=9).decode() == "one\ntwo!\n"
    assert [*disk.lines_named(path, most=9, longest=5)] == [b"one\n", b"two!\n"]
    with pytest.raises(ValueError, match="line 2 is longer than 4 bytes"):
        list(disk.lines_named(path, most=9, longest=4))
    assert [*disk.lines_named(path, most=9, longest=4, is_cut=True)] == [b"one\n", b"two!\n"]
    assert next(iter(disk.lines_named(path, most=9, longest=2, is_cut=True))) == b"one"
    for read in (disk.read_named, disk.read_bytes, every_line):
        with pytest.raises(ValueError, match=r"at most 8|more than 8"):
            read(path, most=8)


def every_line(path: Path, *, most: int) -> list[bytes]:
    return list(disk.lines_named(path, most=most, longest=most))


def test_a_file_that_is_longer_than_it_says_is_read_no_further_than_its_bound() -> None:
    path = Path("/proc/self/status")
    assert path.stat().st_size == 0, "as of a file that grows while it is read"
    for read in (disk.read_bytes, disk.read_named):
        with pytest.raises(ValueError, match="more than 10 bytes"):
            read(path, most=10)
        assert read(path, most=100_000)
    with pytest.raises(ValueError, match="more than 50 bytes"):
        list(disk.lines_named(path, most=50, longest=1000))
    assert b"".join(disk.lines_named(path, most=100_000, longest=10_000)).startswith(b"Name:")


def test_a_new_file_may_be_read_by_all_that_the_umask_lets(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        disk.write_text(tmp_path / "a", "x")
        disk.append(tmp_path / "log").close()
        disk.write_whole(tmp_path / "b", lambda file: file.write(b"x"), mode=0o600)
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"a": 0o644, "log": 0o644, "b": 0o600}


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
    result = disk.read_columns(tmp_path / "a.parquet", rows=3, values=3)
    assert result.equals(table)
    assert result.schema.metadata[b"schema"] == b"x"
    some = disk.read_columns(tmp_path / "a.parquet", rows=3, values=3, columns=["text"])
    assert some.column_names == ["text"]
    empty = table.slice(0, 0)
    pq.write_table(empty, tmp_path / "b.parquet")
    assert (
        disk.read_columns(tmp_path / "b.parquet", rows=0, values=0).schema.names
        == empty.column_names
    )


def test_a_small_file_that_represents_gigabytes_is_refused_before_it_is_read(
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


def test_a_footer_that_lies_gives_no_more_rows_than_it_says(tmp_path: Path) -> None:
    """The description says one row, the pages hold a million."""
    path, many = tmp_path / "lie.parquet", 1_000_000
    pq.write_table(pa.table({"x": pa.repeat(pa.scalar(7, pa.int64()), many)}), path)
    sound = path.read_bytes()
    assert disk.read_columns(path, rows=many, values=many).num_rows == many
    size = int.from_bytes(sound[-8:-4], "little")
    head, footer, end = sound[: -8 - size], sound[-8 - size : -8], sound[-8:]
    assert varint(2 * many, 3) in footer
    path.write_bytes(head + footer.replace(varint(2 * many, 3), varint(2, 3)) + end)
    try:
        table = disk.read_columns(path, rows=1, values=10)
    except (OSError, ValueError, pa.ArrowException):
        return
    assert table.num_rows == 1


def test_a_table_is_read_without_starting_threads(tmp_path: Path) -> None:
    """One that cannot be started looked like damage, and the advice was to remove the file."""
    path = tmp_path / "sound.parquet"
    pq.write_table(pa.table({"x": np.arange(100_000)}), path)
    code = (
        "import os, sys, pyarrow.parquet; from pathlib import Path; from sojourn import disk;"
        "before = os.listdir('/proc/self/task');"
        "disk.read_columns(Path(sys.argv[1]), rows=10**6, values=10**6);"
        "assert os.listdir('/proc/self/task') == before"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


def test_a_page_that_says_that_it_is_two_gigabytes_is_a_fault_of_its_file(tmp_path: Path) -> None:
    """The page's own head is looked at by no one before memory is asked for."""
    path, many = tmp_path / "lie.parquet", 100_000
    column = pa.array(np.arange(many) % 4096)
    pq.write_table(pa.table({"x": column}), path, use_dictionary=False, compression="zstd")
    sound = path.read_bytes()
    first = pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    assert sound[first : first + 3] == b"\x15\x00\x15", "type of page 0, then its size"
    ends = next(at for at in range(first + 3, first + 9) if sound[at] < 0x80) + 1
    path.write_bytes(sound[: first + 3] + varint(2 * (2**31 - 1), 5) + sound[ends:])
    with pytest.raises((OSError, ValueError, pa.ArrowException, RunFault)):
        disk.read_columns(path, rows=many, values=many)


def varint(number: int, size: int) -> bytes:
    """A number as Thrift's compact form has it, with so many bytes."""
    parts = [number >> 7 * at & 0x7F for at in range(size)]
    assert number < 1 << 7 * size
    return bytes([*(part | 0x80 for part in parts[:-1]), parts[-1]])


#: Letters that Python ends a line or a word at and the kernel does not.
NO_ENDS = "\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u2003\u2028\u2029"
MOUNTED = "30 23 0:26 / {} rw,nosuid shared:1 - tmpfs none rw,size=1m\n"


@pytest.mark.parametrize("end", NO_ENDS)
def test_no_letter_of_a_mounts_name_begins_another_mount(end: str, tmp_path: Path) -> None:
    """The name of a mount that a user made with fusermount, as the kernel shows it."""
    forged = f"/home/a/{end}31 30 0:27 / /home/a/evil rw - cgroup2 none rw"
    name = forged.replace(" ", "\\040")
    (tmp_path / "mountinfo").write_bytes(MOUNTED.format(name).encode())
    (mount,) = tables.mounts(tables.text(tmp_path / "mountinfo"))
    assert (mount.point, mount.kind) == (forged, "tmpfs")
    spaced = forged.replace(" ", end)
    (mount,) = tables.mounts(MOUNTED.format(spaced))
    assert (mount.point, mount.kind) == (spaced, "tmpfs")
    assert mount.whole == {"rw", "size=1m"}
    assert tables.lines(f"Name:\ta{end}Uid:\t0\nUid:\t9\n")[1:] == ["Uid:\t9"]


def test_a_mounts_name_is_as_it_is() -> None:
    (mount,) = tables.mounts(MOUNTED.format(r"/a\040b\011c\012d\134040e"))
    assert mount.point == "/a b\tc\nd\\040e"
    assert [*tables.mounts(None)] == [*tables.mounts("30 23 0:26 / /a rw\n")] == []


def test_folders_of_any_depth_are_looked_through_and_removed(tmp_path: Path) -> None:
    """Beyond what Python may call, what a path may be long and what may be open at once."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "deep" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "kept" / "file").touch()
    with nested(tmp_path / "deep", 2500):
        seen = [folder for folder, _ in disk.tree.walk(tmp_path)]
        assert 1000 < len(seen) < 2500
        disk.tree.remove(tmp_path / "deep")
    assert names(tmp_path) == ["kept"]
    assert names(tmp_path / "kept") == ["file"]
    with pytest.raises(FileNotFoundError):
        disk.tree.remove(tmp_path / "deep")


def test_what_cannot_be_removed_is_told_and_the_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("top/a/b", "top/c"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").touch()
    (tmp_path / "top" / "stuck").touch()
    unlink = os.unlink

    def refusing(name: str, *, dir_fd: int) -> None:
        if name == "stuck":
            raise PermissionError(errno.EPERM, "not permitted", name)
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refusing)
    with pytest.raises(PermissionError):
        disk.tree.remove(tmp_path / "top")
    assert names(tmp_path / "top") == ["stuck"]


def test_a_small_file_takes_little_memory_whatever_may_be_read(tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"12345")
    tracemalloc.start()
    try:
        assert foreign.read_bytes(path, most=256 * 2**20) == b"12345"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_a_file_without_a_size_is_read_to_its_end() -> None:
    whole = Path("/proc/self/mountinfo").read_bytes()
    assert foreign.read_bytes(Path("/proc/self/mountinfo"), most=2**20) == whole
