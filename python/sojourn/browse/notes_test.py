"""A note is replaced by who saw it, and by no one else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sojourn.browse import notes
from sojourn.errors import StoreFault


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.mark.parametrize("name", ["s/m/r", os.fsdecode(b"s/m/\xff")])
def test_a_note_that_was_changed_meanwhile_is_not_replaced(name: str) -> None:
    none = notes.version("")
    notes.keep(name, "first", seen=none)
    with pytest.raises(StoreFault, match="changed meanwhile") as caught:
        notes.keep(name, "second", seen=none)
    assert caught.value.at.encode("utf-8"), "it can be written down"
    assert notes.load(name) == "first"
    notes.keep(name, "second", seen=notes.version("first"))
    assert notes.load(name) == "second"
    notes.keep(name, "third")
    assert notes.load(name) == "third"
