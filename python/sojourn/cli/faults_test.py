"""A machine that has no more of something is no bug of the lab: it is reported, with a way out."""

from __future__ import annotations

import errno
import os
import subprocess

import pytest

from sojourn.cli import faults
from sojourn.cli.faults import guarded
from sojourn.errors import Exit
from sojourn.testing import is_bug


class PanicException(BaseException):
    """What such a library raises."""


def os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (RuntimeError("can't start new thread"), "cannot start a thread"),
        (PanicException("OS can't spawn worker thread: (os error 11)"), "cannot start a thread"),
        (os_error(errno.ENOMEM), "no memory left"),
        (os_error(errno.EMFILE), "too many files are open"),
        (MemoryError(), "not enough memory"),
        (OSError(errno.ENOSPC, "No space left on device", "/x/y"), "cannot write /x/y: No space"),
        (OSError(2, "No usable temporary directory in ['/tmp']"), "temporary files"),
        (OSError(errno.EROFS, "Read-only file system", "/x/y"), "cannot write /x/y: Read-only"),
    ],
    ids=[
        "thread",
        "thread of a library",
        "memory",
        "files",
        "Python's memory",
        "full",
        "temporary",
        "closed",
    ],
)
def test_what_the_machine_has_no_more_of_is_reported(
    error: BaseException, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def program() -> int:
        raise error

    assert guarded(program) == Exit.FAILED
    err = capsys.readouterr().err
    assert what in err
    assert "fix:" in err
    assert not is_bug(err)


def test_a_process_that_cannot_be_started_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> int:
        raise os_error(errno.EAGAIN)

    monkeypatch.setattr(subprocess, "_fork_exec", refused)
    assert guarded(lambda: subprocess.call(["true"])) == Exit.FAILED
    err = capsys.readouterr().err
    assert "cannot start a process" in err
    assert not is_bug(err)


@pytest.mark.parametrize(
    "error", [RuntimeError("no thread"), BlockingIOError(errno.EAGAIN, "write could not complete")]
)
def test_another_error_of_the_same_kind_is_a_bug(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def program() -> int:
        raise error

    assert guarded(program) == Exit.FAILED
    assert is_bug(capsys.readouterr().err)


def test_a_full_disk_is_not_called_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is written by a descriptor names no file, and a pipe is never full in this way."""

    def program() -> int:
        raise os_error(errno.ENOSPC)

    for is_file, what in ((True, "standard output"), (False, "cannot write: No space left")):
        monkeypatch.setattr(faults, "_may_be_full", lambda is_file=is_file: is_file)
        monkeypatch.setattr(faults, "drop_stdout", lambda: None)
        assert guarded(program) == Exit.FAILED
        err = capsys.readouterr().err
        assert what in err
        assert not is_bug(err)
