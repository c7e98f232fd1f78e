"""A results folder that cannot be read is refused, and strange folders in it end no command."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import spec, store
from sojourn.cli.app import main
from sojourn.errors import Exit, StoreFault
from sojourn.store import named

COMMANDS = (
    ["ls"],
    ["ls", "--json"],
    ["rm", "x", "--yes"],
    ["show"],
    ["history"],
    ["sql", "select 1"],
)


def looped(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop"


def a_file(folder: Path) -> Path:
    (folder / "file").write_text("x")
    return folder / "file"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("make", [looped, a_file, lambda folder: folder / ("x" * 300)])
def test_a_folder_that_cannot_be_read_is_refused_in_words(
    make: object, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(make)
    assert main([*words, "--results", str(make(tmp_path))]) == Exit.FAILED
    seen = capsys.readouterr()
    assert ("cannot be read" in seen.err, "unexpected" in seen.err) == (True, False)
    assert seen.out == ""


def test_a_folder_that_is_not_there_yet_has_no_records(tmp_path: Path) -> None:
    assert main(["ls", "--results", str(tmp_path / "none")]) == Exit.OK
    with pytest.raises(StoreFault, match="there is no record yet"):
        named.resolve(tmp_path / "none", None)


def test_strange_folders_hide_no_record(tmp_path: Path) -> None:
    looped(tmp_path)
    study = spec.load("selfcheck", profile="quick")
    with store.open(tmp_path, study, resume=False, machine="vm") as record:
        path = record.path
    (tmp_path / "proc").symlink_to("/proc/self")  # scandir and stat fail on some of its entries
    looped(path.parent)
    a_file(path.parents[1])
    assert list(named.records(tmp_path)) == [path]
    assert [one.path for one in store.listed(tmp_path)] == [path]


def test_a_plan_needs_no_results_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert store.last(looped(tmp_path), "selfcheck") is None
    assert store.last(tmp_path / ("x" * 300), "selfcheck") is None
    assert capsys.readouterr().err == ""
