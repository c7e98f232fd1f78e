"""What tests hear of a program has a deadline, also where it hangs."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.knobs import groups
from sojourn.manage import testing

SILENT = "import time; time.sleep(600)"


def test_a_program_that_does_not_end_is_not_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", SILENT]) as program:
        kill = program.kill
        program.kill = lambda: None  # type: ignore[method-assign]  # as of one that is frozen
        assert not testing.ended(program, 0.1)
        program.kill = kill  # type: ignore[method-assign]
        assert testing.ended(program)


needs_groups = pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-")


@needs_groups
def test_a_group_that_is_frozen_ends_with_its_test(tmp_path: Path) -> None:
    """No signal ends a program that the freezer of version 1 holds."""
    with testing.stand(tmp_path) as one:
        if groups.find(testing.TREE, "freezer"):
            one.file("batch", "freezer.state", "freezer").write_text("FROZEN")
        elif (freeze := one.file("batch", "cgroup.freeze")).exists():
            freeze.write_text("1")
    assert one.programs["batch"].returncode == -signal.SIGKILL
    assert not any(group.exists() for group in one.made)


@needs_groups
def test_what_is_left_of_a_test_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(RuntimeError, match=r"this is left of a test: .*-batch"),
        testing.stand(tmp_path) as one,
    ):
        monkeypatch.setattr(testing, "remove_group", lambda _group: None)
    monkeypatch.undo()
    for group in one.made:
        testing.remove_group(group)
    assert not any(group.exists() for group in one.made)


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
