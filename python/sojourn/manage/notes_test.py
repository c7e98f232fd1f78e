"""Notes of a group's files: all that was written is put back, once, and can be noted anew."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.host.tree import Tree
from sojourn.knobs import groups as knob_groups
from sojourn.manage.notes import CAP, Notes
from sojourn.run.journal import Journal

QUOTA = "/cpu.cfs_quota_us"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    one = Journal.create(tmp_path / "state")
    yield one
    one.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """All texts here are of one length, because a plain file is not cut as it is written."""
    one = tmp_path / QUOTA.lstrip("/")
    one.write_text("20000\n")
    return one


@pytest.fixture
def notes(tmp_path: Path, journal: Journal, file: Path) -> Notes:
    return Notes("batch", journal, Tree(tmp_path))


def test_what_the_warden_alone_has_written_is_put_back(
    notes: Notes, file: Path, journal: Journal
) -> None:
    notes.note(CAP, [(QUOTA, "50000")])
    file.write_text("50000\n")
    assert notes.restore() == []
    assert file.read_text() == "20000\n"
    assert notes.is_empty
    journal.close()
    assert not journal.path.exists()


def test_what_somebody_else_has_set_since_is_left(notes: Notes, file: Path) -> None:
    notes.write(QUOTA, "50000")
    file.write_text("70000\n")
    assert notes.restore() == []
    assert file.read_text() == "70000\n"


def test_after_it_was_put_back_a_file_is_noted_as_it_is_then(notes: Notes, file: Path) -> None:
    notes.write(QUOTA, "50000")
    assert notes.restore() == []
    file.write_text("30000\n")
    notes.write(QUOTA, "60000")
    assert notes.restore() == []
    assert file.read_text() == "30000\n"


def test_what_cannot_be_put_back_stays_noted(
    notes: Notes, file: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, "no right")

    notes.write(QUOTA, "50000")
    with monkeypatch.context() as patched:
        patched.setattr(knob_groups, "write", refuse)
        assert notes.restore() == [f"{QUOTA}: no right"]
    assert not notes.is_empty
    assert notes.restore() == []
    assert file.read_text() == "20000\n"
    journal.close()
    assert not journal.path.exists()
