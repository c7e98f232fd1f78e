"""A process by its number: another one that has the number later is not taken for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sojourn.errors import HostFault
from sojourn.manage import feed, testing
from sojourn.manage.config import GroupSpec
from sojourn.manage.groups import Managed
from sojourn.manage.process import Process
from sojourn.places import proc
from sojourn.places.proc import Stat

NONE = 1 << 30  # above every number that the kernel gives


@pytest.fixture
def pid() -> Iterator[int]:
    """A program that sleeps."""
    with subprocess.Popen([sys.executable, "-IS", "-c", testing.SLEEP]) as one:
        yield one.pid
        one.kill()


def group(pid: int) -> Managed:
    return Managed("batch", GroupSpec(role="best-effort", pid=pid), (0,), testing.TREE)


def test_a_number_that_another_process_has_now_is_gone(
    pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = group(pid)
    one.find()
    assert (one.is_there, one.pids(), feed._pids(one)) == (True, (pid,), (pid,))
    real = proc.stat

    def later(number: int) -> Stat | None:
        now = real(number)
        return replace(now, start_ticks=now.start_ticks + 1) if now and number == pid else now

    monkeypatch.setattr(proc, "stat", later)
    assert proc.family(pid), "the number is in use"
    assert (one.is_there, one.pids(), feed._pids(one)) == (False, (), ())
    one.find()
    assert one.is_there, "named anew"


def test_one_that_lives_is_known_without_a_list_of_all(
    pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = group(pid)
    one.find()

    def refuse(_first: int) -> tuple[Stat, ...]:
        raise AssertionError("it reads every process")

    with monkeypatch.context() as patched:
        patched.setattr(proc, "family", refuse)
        assert one.is_there
    os.kill(pid, signal.SIGKILL)
    assert testing.until(lambda: not one.is_there), "dead, and not reaped yet"


def test_a_number_that_no_process_has_is_refused() -> None:
    assert Process.of(NONE) is None
    with pytest.raises(HostFault, match="there is no process"):
        group(NONE).find()


def test_one_that_was_not_looked_for_has_no_processes(pid: int) -> None:
    assert (group(pid).is_there, group(pid).pids()) == (False, ())
