"""Notes of a group's files: all that was written is put back, once, and can be noted anew."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import RunFault
from sojourn.host.tree import Tree
from sojourn.knobs import groups as knob_groups
from sojourn.manage.notes import CAP, Notes
from sojourn.run import signals
from sojourn.run.journal import Journal, read

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


def test_a_signal_while_a_note_is_written_leaves_none_behind(
    notes: Notes, file: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes.write(QUOTA, "50000")
    fsync = os.fsync

    def stopped(handle: int) -> None:
        fsync(handle)
        monkeypatch.undo()
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("sojourn.run.journal.os.fsync", stopped)
    with pytest.raises(signals.Interrupted), signals.ending_in_order():
        notes.write(QUOTA, "60000")
    assert notes.restore() == []
    assert file.read_text() == "20000\n"
    journal.close()
    assert not journal.path.exists()


@pytest.mark.parametrize("end", [Notes.restore, Notes.forget, Notes.drop_cap])
def test_a_signal_while_a_note_is_crossed_out_leaves_none_behind(
    notes: Notes, journal: Journal, monkeypatch: pytest.MonkeyPatch, end: Callable[[Notes], object]
) -> None:
    notes.note(CAP, [(QUOTA, "50000")])
    notes.write(QUOTA, "60000")
    undone = journal.undone

    def stopped(entry: int) -> None:
        monkeypatch.undo()
        signal.raise_signal(signal.SIGTERM)
        undone(entry)

    monkeypatch.setattr(journal, "undone", stopped)
    with pytest.raises(signals.Interrupted), signals.ending_in_order():
        end(notes)
    assert notes.restore() == []
    journal.close()
    assert not journal.path.exists()


def test_a_journal_of_many_changes_stays_small(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.run.journal.COMPACT_BYTES", 8192)
    journal = Journal.create(tmp_path / "many")
    notes = Notes("batch", journal, Tree(tmp_path))
    for number in range(120):
        notes.write(QUOTA, str(50_000 + number))
    assert journal.path.stat().st_size < 2 * 8192
    (left,) = read(tmp_path / "many")
    (entry,) = left.entries
    assert entry.facts["settings"][0]["old"] == "20000"
    assert notes.restore() == []
    assert file.read_text() == "20000\n"
    journal.close()
    assert not [*(tmp_path / "many").iterdir()]


def test_of_a_group_that_is_gone_nothing_is_put_back(
    notes: Notes, file: Path, journal: Journal
) -> None:
    notes.note(CAP, [(QUOTA, "50000")])
    notes.write(QUOTA, "60000")
    notes.forget()
    assert notes.is_empty
    assert file.read_text() == "60000\n"
    (left,) = read(journal.path.parent)
    (entry,) = left.entries
    (setting,) = entry.facts["settings"]
    assert (setting["old"], setting["new"]) == ("20000", "50000"), "the warden has its path still"
    notes.drop_cap()
    notes.drop_cap()
    journal.close()
    assert not journal.path.exists()


def test_what_is_in_the_way_of_another_file_is_put_back_at_once(
    notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a period and a quota, of which the kernel does not take every pair."""
    first, second = tmp_path / "first", tmp_path / "second"
    for one in (first, second):
        one.write_text("1\n")
        notes.write(f"/{one.name}", "2")
    real = knob_groups.write

    def in_order(tree: Tree, path: str, text: str) -> None:
        if path == "/second" and first.read_text() != "1\n":
            raise OSError(errno.EINVAL, "not yet")
        real(tree, path, text)

    monkeypatch.setattr(knob_groups, "write", in_order)
    assert notes.restore() == []
    assert (first.read_text(), second.read_text()) == ("1\n", "1\n")


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


def test_who_dies_between_two_texts_leaves_what_is_in_the_file_noted(
    notes: Notes, file: Path, journal: Journal
) -> None:
    """The note before is crossed out by then, and the text of the new one is not written yet."""
    notes.write(QUOTA, "50000")
    notes.write(QUOTA, "60000")
    for text in ("20000", "70000", "80000"):  # the first is what was there before the manager
        notes.note(QUOTA, [(QUOTA, text)])  # and the kernel refuses it
        assert file.read_text().strip() == "60000"
        assert undone_of(journal) == {"60000": "20000", text: "20000"}
    notes.write(QUOTA, "90000")
    notes.write(QUOTA, "50000")
    assert undone_of(journal) == {"90000": "20000", "50000": "20000"}


def undone_of(journal: Journal) -> dict[str, str]:
    """What a file would be given by who reads the journal, by the text that is in it then."""
    (left,) = read(journal.path.parent)
    every = [one for entry in left.entries for one in entry.facts["settings"]]
    return {one["new"]: one["old"] for one in every}


def test_where_the_journal_takes_no_more_the_note_before_is_crossed_out_at_the_end(
    notes: Notes, file: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_words: object, **_more: object) -> int:
        raise RunFault("the disk is full", at="", fix="")

    notes.write(QUOTA, "50000")
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "note", full)
        with pytest.raises(RunFault):
            notes.write(QUOTA, "60000")
    assert file.read_text() == "50000\n", "nothing is written without a note"
    assert notes.restore() == []
    assert file.read_text() == "20000\n"
    journal.close()
    assert not journal.path.exists()
