"""What file system temporary files lie on."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn.places import temporary


def test_a_folder_is_on_the_file_system_of_its_innermost_mount(tmp_path: Path) -> None:
    folder = tmp_path / "ram"
    folder.mkdir()
    text = (
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        f"2 1 0:27 / {folder.resolve()} rw - tmpfs tmpfs rw\n"
        f"3 1 0:28 / {folder.resolve()}-other rw - btrfs x rw\n"
    )
    assert temporary.kind(folder, text) == "tmpfs"
    assert temporary.kind(tmp_path, text) == "ext4"
    assert temporary.kind(folder, "") == ""
    (tmp_path / "link").symlink_to(folder)
    assert temporary.kind(tmp_path / "link", text) == "tmpfs"


def test_a_folder_where_no_program_may_be_started_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, other = tmp_path / "usual", tmp_path / "other"
    usual.mkdir()
    other.mkdir()
    closed = {usual}
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(usual))
    monkeypatch.setattr(temporary, "PLACES", (str(other),))
    monkeypatch.setattr(
        os, "statvfs", lambda at: SimpleNamespace(f_flag=os.ST_NOEXEC if at in closed else 0)
    )
    assert temporary.base(None) == other
    closed.add(other)
    assert temporary.base(None) == usual, "many services start nothing there"
    closed.clear()
    assert temporary.base(None) == usual


def test_without_a_text_the_mounts_of_this_machine_are_read() -> None:
    assert temporary.kind(Path("/proc")) == "proc"
