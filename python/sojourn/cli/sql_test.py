"""A result of `sojourn sql` is readable, however many columns it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn.cli.app import main
from sojourn.errors import Exit


def printed(query: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["sql", query, "--results", str(folder)]) == Exit.OK
    return capsys.readouterr().out.splitlines()


def test_columns_that_do_not_fit_become_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    many = ", ".join(f"'a long value {n}' as name_{n}" for n in range(30))
    lines = printed(f"select {many} union all select {many}", tmp_path, capsys)
    assert not [line for line in lines if "…" in line]
    assert lines[0].strip() == "row 1 of 2"
    assert lines[30].split() == ["name_29", "a", "long", "value", "29"]
    assert lines[31].strip() == "row 2 of 2"


def test_columns_that_fit_are_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed("select 1 as a, null as b", tmp_path, capsys)
    assert [line.split() for line in lines] == [["a", "b"], ["1"]]
