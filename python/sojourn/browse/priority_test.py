"""Every thread of a program that shows records gives way to a measurement."""

from __future__ import annotations

import os
import threading

import pytest

from sojourn.browse.priority import step_back


def test_threads_that_were_started_before_step_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    policies: dict[int, int] = {}

    def changed(thread: int, policy: int, _param: object) -> None:
        policies[thread] = policy

    monkeypatch.setattr(os, "sched_setscheduler", changed)
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    try:
        step_back()
    finally:
        end.set()
        other.join()
    assert other.native_id is not None
    assert policies[other.native_id] == policies[threading.get_native_id()] == os.SCHED_IDLE
