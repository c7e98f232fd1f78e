"""What file system temporary files lie on."""

from __future__ import annotations

from pathlib import Path

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


def test_without_a_text_the_mounts_of_this_machine_are_read() -> None:
    assert temporary.kind(Path("/proc")) == "proc"
