"""A result of `sojourn sql` is readable, however many columns it has."""

from __future__ import annotations

import subprocess
import sys
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


#: In a process of its own, because one that gets no more memory may just end.
BOUNDED = """
import os, sys
from sojourn.store import within
within.of_machine, within.SPARE_BYTES, os.cpu_count = lambda: 50 << 20, 512 << 20, lambda: 4
from sojourn.cli.app import main
sys.exit(main(["sql", sys.argv[1], "--results", sys.argv[2]]))
"""


@pytest.mark.parametrize(
    ("query", "code"),
    [("select length(repeat('x', 4000000000)) as n", Exit.FAILED), ("select 7 as n", Exit.OK)],
)
def test_one_huge_value_ends_the_query_and_no_other_program(
    query: str, code: Exit, tmp_path: Path
) -> None:
    """DuckDB's own limit does not count it."""
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, query, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), "HOME": str(tmp_path)},
    )
    assert done.returncode == code, done.stderr
    assert ("more memory" in done.stderr) is (code is Exit.FAILED)
