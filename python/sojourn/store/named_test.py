"""Which record a person means: the newest by its start, of any name."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sojourn import store
from sojourn.errors import StoreFault
from sojourn.store.listing import listed
from sojourn.store.named import began, shown

SCHEMA = "sojourn.record/1"


def made(results: Path, folder: str, started: object, machine: str = "m") -> Path:
    """A record of which only the manifest is there."""
    path = results / "s" / machine / folder
    path.mkdir(parents=True)
    (path / "manifest.json").write_text(json.dumps({"schema": SCHEMA, "started": started}))
    return path


def test_the_newest_is_the_one_that_began_last_whatever_its_folder_is_called(
    tmp_path: Path,
) -> None:
    old = made(tmp_path, "zz-baseline", "2025-01-01T00:00:00+00:00")
    usual = made(tmp_path, "20260101T000000Z-0001", "2026-01-01T00:00:00+00:00")
    new = made(tmp_path, "a-new-name", "2026-02-01T01:00:00+02:00")
    strange = made(tmp_path, "zzz", 7)
    assert store.resolve(tmp_path, None) == store.resolve(tmp_path, "s") == new
    assert list(store.records(tmp_path)) == [strange, old, usual, new]
    assert [one.path for one in listed(tmp_path)] == [new, usual, old, strange]


@pytest.mark.parametrize(
    ("started", "at"),
    [
        ("2026-11-26T12:00:00Z", "20261126T120000Z"),
        ("2026-11-26T12:00:00", "20261126T120000Z"),
        ("0001-01-01T00:00:00+23:00", ""),
        ("zzz", ""),
        (None, ""),
    ],
)
def test_a_start_that_is_no_time_is_none(started: object, at: str) -> None:
    assert began("baseline", started) == at


def test_a_record_is_meant_by_its_whole_name_before_those_that_contain_it(tmp_path: Path) -> None:
    one = made(tmp_path, "20260101T000000Z-7d37", "")
    longer = made(tmp_path, "20260101T000000Z-7d37-copy", "")
    copied = made(tmp_path, "20260101T000000Z-7d37", "", machine="m2")
    for path in (one, longer, copied):
        assert store.resolve(tmp_path, str(path.relative_to(tmp_path))) == path


def test_a_folder_of_any_bytes_has_a_name_by_which_it_is_opened(tmp_path: Path) -> None:
    paths = [made(tmp_path, os.fsdecode(name), "") for name in (b"a\xff", b"a\x1b[2J", rb"a\udcff")]
    names = {shown(str(path.relative_to(tmp_path))): path for path in paths}
    assert len(names) == len(paths)
    for name, path in names.items():
        assert name.encode("utf-8").isascii()
        assert name.isprintable()
        for text in (name, name.rpartition("/")[2]):
            assert store.resolve(tmp_path, text) == path
    with pytest.raises(StoreFault) as caught:
        store.resolve(tmp_path, "absent")
    assert caught.value.fix.encode("utf-8"), "what it names can be written down"


def test_a_name_that_is_too_long_for_a_file_is_no_record(tmp_path: Path) -> None:
    with pytest.raises(StoreFault, match="there is no record"):
        store.resolve(tmp_path, "x" * 300)
