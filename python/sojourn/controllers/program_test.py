"""A foreign controller: it cannot stop the manager, and nothing of it is left."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from sojourn.controllers import program
from sojourn.controllers.look import History
from sojourn.controllers.program import Program
from sojourn.controllers.testing import look
from sojourn.errors import RunFault

LARGE = 1 << 18  # bytes of a look: more than a pipe holds
DEAF = """
import time
time.sleep(0.5)
print('{"changes": []}', flush=True)
time.sleep(20)
"""
READS = """
import sys
for line in sys.stdin:
    print('{"changes": []}', flush=True)
"""


@pytest.fixture(autouse=True)
def _ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program here ends by itself."""
    monkeypatch.setattr(program, "END_S", 0.1)


def has_more(pipe: IO[bytes] | None) -> bool:
    assert pipe is not None
    return bool(select.select([pipe], [], [], 0)[0])


def started(folder: Path, code: str) -> Program:
    (folder / "program.py").write_text(code)
    return Program(f"{sys.executable} -IS {folder / 'program.py'}")


def large() -> History:
    one = look(0)
    groups = {
        name: group.model_copy(update={"traits": ("x" * LARGE,)})
        for name, group in one.groups.items()
    }
    return History(looks=(one.model_copy(update={"groups": groups}),))


def until(true: Callable[[], object]) -> bool:
    end = time.monotonic() + 20
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def lives(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in {"Z", "X"}


def test_a_program_that_answers_and_never_reads_is_a_fault(tmp_path: Path) -> None:
    with (
        started(tmp_path, DEAF) as one,
        pytest.raises(RunFault, match="did not read a look within 1 s"),
    ):
        one.decide(large())


def test_a_look_that_no_pipe_holds_is_read_and_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "ANSWER_S", 20.0)
    with started(tmp_path, READS) as one:
        assert [one.decide(large()).changes for _ in range(2)] == [(), ()]


@pytest.mark.parametrize("before", ["", 'print("ready", flush=True)'])
def test_a_line_that_answers_no_look_is_not_taken_for_the_answer_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """Else each further answer would be one look older."""
    monkeypatch.setattr(program, "ANSWER_S", 20.0)
    twice = "" if before else "    print('{\"changes\": []}', flush=True)\n"
    with started(tmp_path, before + READS + twice) as one:
        if not before:
            assert one.decide(History(looks=(look(0),))).changes == ()
        process = one._process
        assert process is not None
        assert until(lambda: one._rest or has_more(process.stdout))
        with pytest.raises(RunFault, match="answered before it was asked, or twice"):
            one.decide(History(looks=(look(1),)))


def test_a_program_that_ends_without_a_word_is_a_fault(tmp_path: Path) -> None:
    with started(tmp_path, "") as one:
        process = one._process
        assert process is not None
        assert until(lambda: has_more(process.stdout))
        with pytest.raises(RunFault, match="has ended"):
            one.decide(History(looks=(look(0),)))


@pytest.mark.parametrize("key", ["group", "level"])
@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "1e400", "[]", "{}", f'"{"x" * 65}"', "1" * 5000, r'"\ud800"']
)
def test_a_value_that_no_group_and_no_level_has_is_a_fault(
    key: str, value: str, tmp_path: Path
) -> None:
    words = {"group": '"batch"', "knob": '"ways"', "level": "1", "reason": '""', key: value}
    change = ", ".join(f'"{name}": {word}' for name, word in words.items())
    answer = f'{{"changes": [{{{change}}}]}}'
    code = f"input(); print({answer!r}, flush=True); input()"
    with (
        started(tmp_path, code) as one,
        pytest.raises(RunFault, match="answered what is no decision") as caught,
    ):
        one.decide(History(looks=(look(0),)))
    assert len(caught.value.what) < 200


@pytest.mark.parametrize("rest", ["", "; wait"])
def test_what_a_program_has_started_ends_with_it(tmp_path: Path, rest: str) -> None:
    """Whether the program itself has ended before or not."""
    note = tmp_path / "pid"
    with Program(f"sh -c 'sleep 600 & echo $! > {note}{rest}'"):
        assert until(lambda: note.exists() and note.read_text().endswith("\n"))
        pid = int(note.read_text())
        assert lives(pid)
    assert until(lambda: not lives(pid))


def test_a_signal_of_the_terminal_is_the_managers() -> None:
    with Program("sleep 600") as one:
        assert one._process is not None
        pid = one._process.pid
        assert os.getsid(pid) == os.getpgid(pid) == pid
    assert not lives(pid)
