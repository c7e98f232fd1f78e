"""Containers of podman that were noted: none is left, also by a lab that died. Podman is a fake."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.places import ledger, podman, remains
from sojourn.places.ledger import Undone

NAME = "sojourn-0123456789"
# Has the containers that are files in a folder, and removes none that is read-only.
FAKE = """#!/bin/sh
cd "{at}" || exit 9
case "$1 $2" in
    "container exists") [ -e "$4" ] ;;
    "rm -f") [ ! -e locked ] || {{ echo "it is in use" >&2; exit 2; }}; rm -f "$5" ;;
    *) exit 9 ;;
esac
"""


class Book:
    """A book in memory."""

    def __init__(self) -> None:
        self.open: dict[int, tuple[str, object]] = {}

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        raise NotImplementedError

    def note(self, kind: str, /, **facts: object) -> int:
        self.open[len(self.open) + 1] = kind, facts["name"]
        return len(self.open)

    def undone(self, entry: int) -> None:
        del self.open[entry]


@pytest.fixture(name="held")
def _held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the fake's containers."""
    held, program = tmp_path / "held", tmp_path / "podman"
    held.mkdir()
    program.write_text(FAKE.format(at=held))
    program.chmod(0o755)
    monkeypatch.setattr(programs, "find", lambda name, fix=None: program)
    return held


@pytest.fixture(name="book")
def _book() -> Book:
    made = Book()
    ledger.opened(made)
    return made


def test_a_container_is_noted_before_it_is_made_and_removed_at_the_end(
    held: Path, book: Book
) -> None:
    def make() -> None:
        with podman.noted() as name:
            assert list(book.open.values()) == [(podman.ENTRY, name)]
            (held / name).touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        make()
    assert not book.open
    assert not list(held.iterdir())


def test_one_that_podman_does_not_remove_stays_in_the_book(held: Path, book: Book) -> None:
    with podman.noted() as name:
        (held / name).touch()
        (held / "locked").touch()
    assert list(book.open.values()) == [(podman.ENTRY, name)]
    what = f"podman's container {name}"
    how = "cannot be removed: it is in use"
    assert podman.undo({"name": name}) == Undone(what=what, how=how, is_done=False)
    (held / "locked").unlink()
    assert podman.undo({"name": name}) == Undone(what=what, how="removed", is_done=True)
    assert podman.undo({"name": name}) is None
    assert not list(held.iterdir())


def test_what_does_not_have_the_labs_form_is_not_removed(held: Path) -> None:
    for name in ("blue", "sojourn-blue", f"{NAME}0", f"../{NAME}"):
        assert podman.undo({"name": name}) is None
    (held / "blue").touch()
    assert podman.undo({"name": "blue"}) is None
    assert (held / "blue").exists()


def test_without_podman_it_cannot_be_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str, fix: str) -> Path:
        raise HostFault(f"program {name} is not installed", at="/", fix=fix)

    monkeypatch.setattr(programs, "find", find)
    undone = podman.undo({"name": remains.name()})
    assert undone is not None
    assert not undone.is_done
    assert undone.how == "cannot be removed: program podman is not installed"


def test_the_book_is_the_last_that_is_open() -> None:
    before, first, second = ledger.own(), Book(), Book()
    ledger.opened(first)
    ledger.opened(second)
    assert ledger.own() is second
    ledger.closed(second)
    assert ledger.own() is first
    del first
    assert ledger.own() is before, "one that no one holds any more is none"
