"""A disk that becomes full keeps the lab from no step of its cleaning."""

from __future__ import annotations

import errno
import os
from functools import partial
from pathlib import Path

import pytest

from sojourn import host
from sojourn.errors import RunFault
from sojourn.places.ledger import Made
from sojourn.run import journal, work
from sojourn.run.journal import Journal
from sojourn.run.session import Session


def fill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no line be written any more."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journal, "_put", full)


def test_all_that_was_made_is_unmade_and_no_journal_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book, unmade = Journal.create(tmp_path), list[str]()
    made = Made(book)
    for name in ("bridge", "port", "netns"):
        made.step(name, {}, lambda: None, partial(unmade.append, name))
    fill(monkeypatch)
    with pytest.raises(RunFault, match="disk is full"):
        book.note("link")
    made.unmake()
    assert unmade == ["netns", "port", "bridge"]
    book.close()
    assert not list(tmp_path.iterdir())


def test_what_could_not_be_crossed_out_is_so_with_the_next_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A manager runs for weeks, and may be killed when the disk has room again."""
    book = Journal.create(tmp_path)
    entry, stays = book.note("link", name="a"), book.note("link", name="b")
    with monkeypatch.context() as patched:
        fill(patched)
        book.undone(entry)
    assert {one.number for one in journal.read(tmp_path)[0].entries} == {entry, stays}
    last = book.note("link", name="c")
    assert {one.number for one in journal.read(tmp_path)[0].entries} == {stays, last}
    for one in (stays, last):
        book.undone(one)
    book.close()


def test_a_session_removes_the_folders_of_all_services(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first one it gave up, and the data of the others stayed on the full disk."""
    monkeypatch.setattr(work, "base", lambda _: tmp_path)
    with Session(host.read(sample_s=0), state=tmp_path / "state") as session:
        for label in ("a", "b"):
            session._folders[label, 1] = work.make(session.journal, None)
        folders = [folder for folder, _ in session._folders.values()]
        assert all(folder.is_dir() for folder in folders)
        fill(monkeypatch)
    assert not any(folder.exists() for folder in folders)
    assert not list((tmp_path / "state").iterdir())
