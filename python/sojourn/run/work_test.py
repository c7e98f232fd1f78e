"""A server's working folder: programs that its user cannot reach are copied there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn.disk import tables
from sojourn.errors import HostFault
from sojourn.places.users import User
from sojourn.run import work
from sojourn.services.capabilities import Needs
from sojourn.services.null import Null
from sojourn.spec import ServiceSpec

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


def test_a_copy_that_could_not_be_started_is_refused(
    closed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC))
    with pytest.raises(HostFault, match="mounted noexec") as caught:
        work.reachable(closed, tmp_path, NOBODY_USER)
    assert "TMPDIR" in caught.value.fix
    assert not (tmp_path / "serve").exists()


def test_a_link_that_was_planted_there_is_not_followed(closed: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "serve").symlink_to(victim)
    work.reachable(closed, tmp_path, NOBODY_USER)
    assert victim.read_text() == "precious"


class Writer(Null):
    """Waits until what it writes is on a disk."""

    def needs(self) -> Needs:
        return Needs(is_syncing=True)


class Asked(Null):
    """The same, because the study says so."""

    def needs(self) -> Needs:
        return Needs(is_syncing=True, is_durable=True)


@pytest.mark.parametrize(
    ("kind", "place", "why"),
    [
        ("tmpfs", "local", "is on tmpfs"),
        ("ext4", "local", ""),
        ("ext4", "vm", "guest is in its memory"),
        ("ext4", "vm:restored", "guest is in its memory"),
        ("tmpfs", "vm:nbd", ""),
    ],
)
def test_what_is_synced_into_memory_is_reported_and_refused_where_a_disk_is_asked_for(
    kind: str, place: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 0:1 / / rw - {kind} x rw\n")
    monkeypatch.setattr(tables, "MOUNTS", mounts)
    spec = ServiceSpec.model_validate({"kind": "null", "measure": ["sweep"], "place": place})
    text = dict(work.disk_rows(spec, Writer())).get("disk", "")
    assert why in text
    assert bool(text) == bool(why)
    assert work.disk_rows(spec, Null()) == ()
    work.check_disk(spec, Writer())
    if not why:
        work.check_disk(spec, Asked())
        return
    with pytest.raises(HostFault, match=why) as caught:
        work.check_disk(spec, Asked())
    assert ("vm:nbd" if place.startswith("vm") else "TMPDIR=/var/tmp") in caught.value.fix
