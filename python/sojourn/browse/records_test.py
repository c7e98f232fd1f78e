"""A record by its name, in letters that an address can have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sojourn.browse import records
from sojourn.errors import StoreFault
from sojourn.store.named import shown


def test_a_name_of_any_bytes_is_found_by_how_it_is_shown(tmp_path: Path) -> None:
    names = [f"s/m/{os.fsdecode(name)}" for name in (b"a", b"a\xff", b"a\x1b", rb"a\udcff")]
    for name in names:
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "manifest.json").write_text("{}")
    for name in names:
        assert shown(name).isprintable()
        for text in (name, shown(name)):
            assert records.named(tmp_path, text) == (name, tmp_path / name)
    for name in ("s/m/absent", "s/m/a\\udcff~00000000", "s/m/../m", "s/m/a\\u0000"):
        with pytest.raises(StoreFault, match="there is no record"):
            records.named(tmp_path, name)
