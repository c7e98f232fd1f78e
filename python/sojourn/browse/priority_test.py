"""Every thread of a program that shows records gives way to a measurement."""

from __future__ import annotations

import os
import threading

import pytest

from sojourn.browse import priority
from sojourn.browse.priority import step_back


def test_threads_that_were_started_before_step_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    policies: dict[int, int] = {}

    def changed(thread: int, policy: int, _param: object) -> None:
        policies[thread] = policy

    monkeypatch.setattr(os, "sched_setscheduler", changed)
    monkeypatch.setattr(os, "setpriority", lambda *_: None)
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


def test_threads_leave_the_cpus_of_a_measurement_and_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now: dict[int, set[int]] = {}
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: now.get(thread, {0, 1, 2, 3}))
    monkeypatch.setattr(os, "sched_setaffinity", now.__setitem__)
    monkeypatch.setattr(priority, "_allowed", lambda: frozenset(range(4)))
    monkeypatch.setattr(priority, "_siblings", lambda cpu: (cpu, cpu ^ 1))
    own = threading.get_native_id()
    priority.keep_off([0])
    assert now[own] == {2, 3}, "the other thread of that core is its, too"
    priority.keep_off([0, 2])
    assert now[own] == {1, 3}, "where each core is used, at least not the same CPU"
    priority.keep_off([])
    assert now[own] == {0, 1, 2, 3}
