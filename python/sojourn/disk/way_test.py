"""No link that takes the name of a folder which the lab writes is followed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn import disk

WRITES: dict[str, Callable[[Path], object]] = {
    "file": lambda record: disk.write_text(record / "complete.json", "x"),
    "log": lambda record: disk.append(record / "lock"),
    "folder": lambda record: disk.make_folder(record / "points"),
    "below": lambda record: disk.write_text(record / "points/0001-a/deeper/x", "x", is_made=True),
    "read": lambda record: disk.read_text(record / "secret", most=100),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_link_in_the_place_of_a_claimed_folder_is_not_followed(
    tmp_path: Path, write: Callable[[Path], object]
) -> None:
    record, elsewhere = tmp_path / "record", tmp_path / "elsewhere"
    record.mkdir()
    (elsewhere / "points/0001-a/deeper").mkdir(parents=True)
    (elsewhere / "secret").write_text("x")
    disk.claim(record)
    disk.write_text(record / "manifest.json", "{}")
    record.rename(tmp_path / "moved")
    record.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(OSError, match="a link"):
        write(record)
    assert sorted(elsewhere.rglob("*")) == before


def test_only_a_folder_that_is_no_link_can_be_claimed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    with pytest.raises(OSError, match="link is a link"):
        disk.claim(tmp_path / "link")
    with pytest.raises(FileNotFoundError):
        disk.claim(tmp_path / "none")
    disk.write_text(tmp_path / "link" / "a", "x")
    assert (tmp_path / "there" / "a").read_text() == "x", "a user names a folder by a link"


def test_no_link_below_a_claimed_folder_is_followed_however_deep(tmp_path: Path) -> None:
    record, elsewhere = tmp_path / "record", tmp_path / "elsewhere"
    (record / "points/0001-a").mkdir(parents=True)
    (elsewhere / "own").mkdir(parents=True)
    (record / "points/0001-a/linked").symlink_to(elsewhere)
    disk.claim(record)
    with pytest.raises(OSError, match="linked is a link"):
        disk.write_text(record / "points/0001-a/linked/own/x", "x")
    assert list((elsewhere / "own").iterdir()) == []
