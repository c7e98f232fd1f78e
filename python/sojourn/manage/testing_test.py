"""What tests hear of a program has a deadline, also where it hangs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sojourn.manage import testing

SILENT = "import time; time.sleep(600)"


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (f"print('a', flush=True); {SILENT}", ["a\n", ""]),
        ("print('a'); print('b')", ["a\n", "b\n", ""]),
        (SILENT, ["", ""]),
    ],
)
def test_a_program_that_says_nothing_is_not_waited_for(code: str, lines: list[str]) -> None:
    words = [sys.executable, "-I", "-S", "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert [testing.line(program, 2.0) for _ in lines] == lines
        finally:
            program.kill()
