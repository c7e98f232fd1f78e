from __future__ import annotations

import io
import stat
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from sojourn.places.guest import cpio
from sojourn.places.guest.cpio import Archive


class Entry(NamedTuple):
    name: str
    mode: int
    owner: tuple[int, int]
    device: tuple[int, int]
    data: bytes


def unpacked(raw: bytes) -> list[Entry]:
    """As the kernel reads it: thirteen numbers of eight digits, name, data, each padded to four."""
    entries, at = [], 0
    while at < len(raw):
        assert raw[at : at + 6] == b"070701"
        n = [int(raw[at + 6 + 8 * k : at + 14 + 8 * k], 16) for k in range(13)]
        name = raw[at + 110 : at + 110 + n[11] - 1].decode()
        start = -(-(at + 110 + n[11]) // 4) * 4
        entries.append(Entry(name, n[1], (n[2], n[3]), (n[9], n[10]), raw[start : start + n[6]]))
        at = -(-(start + n[6]) // 4) * 4
    return entries


def packed(tmp_path: Path) -> bytes:
    (tmp_path / "five").write_bytes(b"12345")
    (tmp_path / "five").chmod(0o750)
    file = io.BytesIO()
    archive = Archive(file)
    archive.console()
    archive.folder("/tmp", mode=0o1777)  # noqa: S108  # in the guest
    archive.file("/srv/data/five", tmp_path / "five", owner=(65_534, 65_534))
    archive.data("/srv/script", b"#!/bin/sh\n", mode=0o755)
    archive.link("/srv/link", "data/five")
    archive.data("/srv/data/five", b"another of that name")
    archive.end()
    return file.getvalue()


def test_folders_come_before_what_is_in_them_and_the_first_of_a_name_stays(tmp_path: Path) -> None:
    entries = unpacked(packed(tmp_path))
    assert [entry.name for entry in entries] == [
        *("dev", "dev/console", "tmp", "srv", "srv/data", "srv/data/five"),
        *("srv/script", "srv/link", cpio.END),
    ]
    by_name = {entry.name: entry for entry in entries}
    five = by_name["srv/data/five"]
    assert (five.data, five.mode, five.owner) == (b"12345", stat.S_IFREG | 0o750, (65_534,) * 2)
    assert by_name["tmp"].mode == stat.S_IFDIR | 0o1777
    assert by_name["srv/link"].data == b"data/five"
    assert stat.S_ISCHR(by_name["dev/console"].mode)
    assert by_name["dev/console"].device == (5, 1)


def test_the_same_files_are_the_same_bytes(tmp_path: Path) -> None:
    assert packed(tmp_path) == packed(tmp_path)


def test_a_link_is_not_followed_where_others_can_put_one(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("root's")
    (tmp_path / "link").symlink_to("secret")
    archive = Archive(io.BytesIO())
    with pytest.raises(OSError):  # noqa: PT011  # ELOOP
        archive.file("a", tmp_path / "link", follow=False)
    archive.file("b", tmp_path / "link")


def test_what_grows_or_is_no_file_breaks_no_archive(tmp_path: Path) -> None:
    (tmp_path / "grows").write_bytes(b"12")
    with tempfile.TemporaryFile() as file, (tmp_path / "grows").open("rb") as source:
        limited = cpio._Limited(source, 1)
        assert limited.read() + limited.read() == b"1"
        with pytest.raises(OSError, match="plain file"):
            Archive(file).file("folder", tmp_path)
