"""Families of processes, look by look."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from sojourn.places import proc
from sojourn.referee.kin import Kin

WITHIN_S = 60.0  # a guard against a hang on a busy machine


def until(kin: Kin, n: int) -> tuple[int, ...]:
    end_s = time.monotonic() + WITHIN_S
    while len(result := kin()) != n and time.monotonic() < end_s:
        time.sleep(0.01)
    return result


def test_children_count_also_when_their_parent_has_ended() -> None:
    script = "sh -c 'sleep 60 & sleep 60 & wait' & wait; sleep 60"
    with subprocess.Popen(["sh", "-c", script]) as first:
        kin = Kin(first.pid)
        shell, parent, *orphans = until(kin, 4)
        assert shell == first.pid
        os.kill(parent, signal.SIGKILL)
        end_s = time.monotonic() + WITHIN_S
        while parent in kin() and time.monotonic() < end_s:
            time.sleep(0.01)
        assert set(orphans) < set(kin())
        for pid in kin()[::-1]:
            os.kill(pid, signal.SIGKILL)


def test_a_stranger_is_no_kin() -> None:
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["sleep", "60"]) as other:
        kin = Kin(one.pid)
        assert kin() == (one.pid,)
        one.kill()
        one.wait()
        assert kin() == ()
        other.kill()


def test_a_look_reads_new_processes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    kin = Kin(os.getpid())
    kin()
    read: list[int] = []
    monkeypatch.setattr(proc, "stat", read.append)
    with subprocess.Popen(["sleep", "60"]) as child:
        kin()
        child.kill()
    assert child.pid in read
    assert os.getpid() not in read
