"""A record that a command takes beside other files: by path or by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sojourn.cli.app import app
from sojourn.cli.record_path import record_path
from sojourn.errors import SpecFault

RUN = "shop/here/20260101T000000Z-0001"


def recorded(tmp_path: Path) -> Path:
    folder = tmp_path / RUN
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    return folder


def test_a_record_is_found_by_its_study_and_a_file_by_its_path(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    table = tmp_path / "points.csv"
    table.write_text("")
    assert record_path(Path("shop"), tmp_path) == folder
    assert record_path(Path("0001"), tmp_path) == folder
    assert record_path(folder, tmp_path) == folder
    assert record_path(table, tmp_path) == table


def test_what_is_neither_file_nor_record_is_refused_with_the_records_that_there_are(
    tmp_path: Path,
) -> None:
    recorded(tmp_path)
    with pytest.raises(SpecFault, match="neither a file nor a record 'shpo'") as caught:
        record_path(Path("shpo"), tmp_path, other="a CSV file")
    assert RUN in caught.value.fix
    assert "or give a CSV file" in caught.value.fix


@pytest.mark.parametrize("words", [["calibrate", "shpo"], ["whatif", "--from", "shpo"]])
def test_commands_that_fit_a_model_take_a_record_by_name(tmp_path: Path, words: list[str]) -> None:
    done = CliRunner().invoke(app, [*words, "--results", str(tmp_path)])
    assert isinstance(done.exception, SpecFault)
    assert "neither a file nor a record 'shpo'" in done.exception.what
