"""A server's working folder: programs that its user cannot reach are copied there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sojourn.places.users import User
from sojourn.run import work

NOBODY_USER = User("nobody", 65534, 65534)


@pytest.fixture(name="closed")
def _closed(tmp_path: Path) -> Path:
    """A program in a folder that only its owner can enter."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    program = home / "serve"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_a_program_in_a_closed_folder_is_copied_once(closed: Path, tmp_path: Path) -> None:
    copy = work.reachable(closed, tmp_path, NOBODY_USER)
    assert copy == tmp_path / "serve"
    assert copy.read_bytes() == closed.read_bytes()
    assert copy.stat().st_mode & 0o111
    before = copy.stat()
    assert work.reachable(closed, tmp_path, NOBODY_USER) == copy
    assert copy.stat().st_ino == before.st_ino


def test_the_lab_s_own_user_and_open_folders_need_no_copy(closed: Path, tmp_path: Path) -> None:
    assert work.reachable(closed, tmp_path, None) == closed
    usual = Path(shutil.which("true") or "/bin/true").resolve()
    assert work.reachable(usual, tmp_path, NOBODY_USER) == usual
    assert not (tmp_path / usual.name).exists()


def test_a_link_that_was_planted_there_is_not_followed(closed: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "serve").symlink_to(victim)
    work.reachable(closed, tmp_path, NOBODY_USER)
    assert victim.read_text() == "precious"
