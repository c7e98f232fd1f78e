"""A log with a file that is renamed, removed, cut or full meanwhile."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from sojourn.controllers.testing import look
from sojourn.errors import RunFault
from sojourn.manage.audit import Audit
from sojourn.manage.log import Log
from sojourn.manage.record import Record


def test_after_a_rename_lines_go_to_a_new_file_of_the_name(tmp_path: Path) -> None:
    """As logrotate does, which packs and removes the old one later."""
    path, old = tmp_path / "log", tmp_path / "log.1"
    one = Log(path)
    one.write(b"a")
    path.rename(old)
    one.write(b"b")
    one.write(b"c")
    assert (old.read_text(), path.read_text()) == ("a\n", "b\nc\n")
    path.unlink()
    one.write(b"d")
    assert path.read_text() == "d\n"
    with path.open("w"):  # copytruncate
        pass
    one.write(b"e")
    assert path.read_bytes() == b"e\n"
    one.close()


def test_the_audit_log_is_such_a_log(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    audit = Audit(path, lambda _line: None)
    audit.say("start")
    path.rename(tmp_path / "audit.1")
    audit.say("end", reason="half \ud800")
    assert '"event": "end"' in path.read_text()
    audit.close()


def test_what_would_control_a_terminal_is_spelled_out_in_the_audit_log(tmp_path: Path) -> None:
    """A program wrote the reason, or an endpoint what was wrong."""
    path, hostile = tmp_path / "audit", "a\x1b[2J\x9b\x7f\u202e\u2028\ud800\nß"
    audit = Audit(path, lambda _line: None)
    audit.say("change", reason=hostile)
    audit.close()
    (line,) = path.read_text().split("\n")[:-1]
    assert line.isprintable()
    assert json.loads(line)["reason"] == hostile
    assert "ß" in line


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("other"), Path.mkdir])
def test_a_name_that_is_taken_by_no_plain_file_is_a_fault(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    """A pipe without a reader would stop the manager; a link leads elsewhere."""
    path, old = tmp_path / "log", tmp_path / "old"
    one = Log(path)
    path.rename(old)
    make(path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(RunFault):
        one.write(b"a")
    with pytest.raises(RunFault):
        Log(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert old.read_text() == ""
    assert not (tmp_path / "other").exists()
    one.close()


@pytest.mark.parametrize("others", [b"", b"x\n"])
def test_of_a_line_that_does_not_fit_nothing_is_left_and_others_lines_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: bytes
) -> None:
    path = tmp_path / "log"
    one, write, parts = Log(path), os.write, iter((4,))

    def full(handle: int, text: bytes) -> int:
        for size in parts:  # once
            written = write(handle, text[:size])
            with path.open("ab") as file:
                file.write(others)
            return written
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    one.write(b"before")
    with monkeypatch.context() as patched:
        patched.setattr("sojourn.manage.log.os.write", full)
        with pytest.raises(RunFault, match="the disk is full"):
            one.write(b"a long line")
    one.write(b"after")
    rest = b"a lo" + others if others else b""
    assert path.read_bytes() == b"before\n" + rest + b"after\n"
    one.close()


def test_a_file_that_cannot_be_opened_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(RunFault, match="cannot write"):
        Log(tmp_path / "absent" / "log")


def test_a_record_is_such_a_log(tmp_path: Path) -> None:

    path = tmp_path / "looks"
    with ExitStack() as stack:
        one = Record(str(path), stack)
        one.write(look(0.0))
        path.rename(tmp_path / "looks.1")
        one.write(look(1.0))
    assert path.read_text().startswith('{"t_s":1.0,')
