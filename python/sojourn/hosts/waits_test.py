"""Calls with a deadline: what they return, what they raise, and that they end."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import threading
import time

import pytest

from sojourn.hosts.engine import SilentError
from sojourn.hosts.waits import within
from sojourn.places.warden import PR_SET_PDEATHSIG


def test_a_call_that_never_returns_is_left_behind() -> None:
    stop = threading.Event()
    began_s = time.monotonic()
    with pytest.raises(SilentError, match="the head: no answer within 0 s"):
        within(0.05, stop.wait, "the head")
    assert time.monotonic() - began_s < 30
    assert any(thread.name == "the head" and thread.daemon for thread in threading.enumerate())
    stop.set()


def test_what_a_call_raises_is_raised_even_if_it_is_a_timeout_of_its_own() -> None:
    def late() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        within(5.0, late, "a call")
    with pytest.raises(ZeroDivisionError):
        within(5.0, lambda: 1 // 0, "a call")


def test_processes_that_end_with_their_starter_outlive_the_call() -> None:
    libc = ctypes.CDLL(None)

    def start() -> subprocess.Popen[bytes]:
        def ask() -> None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

        return subprocess.Popen(["sleep", "600"], preexec_fn=ask)  # noqa: PLW1509  # as Ray does

    short = within(30.0, start, "a start")
    assert short.wait(30.0) == -signal.SIGKILL, "it ended with the thread"
    lasting = within(30.0, start, "a start", starts_processes=True)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            lasting.wait(0.5)
    finally:
        lasting.kill()
        lasting.wait()
