"""The lab stays on the housekeeping CPUs, where that is not refused."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from signal import SIGTERM

import pytest

from sojourn import host
from sojourn.errors import HostFault
from sojourn.run import lab_cpus
from sojourn.run.session import Session


def test_it_is_put_there_and_back() -> None:
    before = os.sched_getaffinity(0)
    with lab_cpus.on((min(before),)):
        assert os.sched_getaffinity(0) == {min(before)}
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS])
def test_a_sandbox_that_refuses_it_is_named(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    with pytest.raises(HostFault, match="cannot be put on CPU 0") as caught, lab_cpus.on((0,)):
        pytest.fail("it went on")
    assert "SystemCallFilter" in caught.value.fix


def test_cpus_that_are_lost_meanwhile_do_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real, lost = os.sched_setaffinity, False

    def put(tid: int, cpus: set[int]) -> None:
        if lost:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        real(tid, cpus)

    before = os.sched_getaffinity(0)
    monkeypatch.setattr(os, "sched_setaffinity", put)
    with lab_cpus.on((min(before),)):
        lost = True
    real(0, before)


def test_a_session_that_cannot_begin_leaves_no_journal_and_no_handler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    session, before = Session(host.read(sample_s=0), state=tmp_path), signal.getsignal(SIGTERM)
    monkeypatch.setattr(lab_cpus, "_put", refuse)
    with pytest.raises(HostFault, match="cannot be put on CPU"):
        session.__enter__()
    assert signal.getsignal(SIGTERM) == before
    assert not list(tmp_path.iterdir())
