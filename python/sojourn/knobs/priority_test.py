"""Real-time priority on scripts that stand in for servers, each started and ended here."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn.host import rights
from sojourn.knobs import priority
from sojourn.knobs.priority import Rank
from sojourn.places import proc
from sojourn.places.task import Task

Give = Callable[[int], int]
THREADS = """
import sys, threading, time
def serve():
    time.sleep(600)
for _ in range(3):
    threading.Thread(target=serve, daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
threading.Thread(target=serve, daemon=True).start()
print("more", flush=True)
time.sleep(600)
"""


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    """Four threads in a session of their own; a line on stdin starts a fifth."""
    pipe = subprocess.PIPE
    words = [sys.executable, "-I", "-S", "-c", THREADS]
    with subprocess.Popen(
        words, stdin=pipe, stdout=pipe, text=True, start_new_session=True
    ) as made:
        assert made.stdout is not None
        assert made.stdout.readline() == "ready\n"
        yield made
        made.kill()


@pytest.fixture
def give() -> Give:
    """`priority.give`; skips the test where it is refused, with the reason."""

    def attempt(leader: int) -> int:
        try:
            return priority.give(leader)
        except priority.RefusedError as refused:
            pytest.skip(str(refused))

    return attempt


def ranks(leader: int) -> list[Rank | None]:
    return [priority.rank(task) for task in proc.tasks(leader)]


def test_every_thread_gets_it_and_new_ones_inherit_it(
    server: subprocess.Popen[str], give: Give
) -> None:
    assert give(server.pid) == 4
    assert ranks(server.pid) == [Rank(policy=os.SCHED_RR, priority=1)] * 4
    assert priority.without(server.pid) == ()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    assert server.stdout.readline() == "more\n"
    assert ranks(server.pid) == [Rank(policy=os.SCHED_RR, priority=1)] * 5


def test_a_thread_that_lost_it_is_found_and_covered_again(
    server: subprocess.Popen[str], give: Give
) -> None:
    give(server.pid)
    lost = proc.tasks(server.pid)[-1]
    os.sched_setscheduler(lost.tid, os.SCHED_OTHER, os.sched_param(0))
    ((result, has),) = priority.without(server.pid)
    assert result.tid == lost.tid
    assert priority.name(has.policy) == "SCHED_OTHER"
    give(server.pid)
    assert priority.without(server.pid) == ()


def test_no_one_else_is_touched(server: subprocess.Popen[str], give: Give) -> None:
    task = Task(pid=os.getpid(), tid=os.getpid(), name="", command="")
    before = priority.rank(task)
    give(server.pid)
    assert priority.rank(task) == before


def test_refused_midway_leaves_no_thread_changed(
    server: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.sched_setscheduler, []

    def refuse_third(tid: int, policy: int, param: os.sched_param) -> None:
        calls.append(tid)
        if len(calls) == 3:
            raise PermissionError(1, "Operation not permitted")
        if len(calls) < 3 and os.geteuid() == 0:
            return real(tid, policy, param)
        return real(tid, os.SCHED_OTHER, os.sched_param(0))

    monkeypatch.setattr(os, "sched_setscheduler", refuse_third)
    with pytest.raises(priority.RefusedError, match="real-time"):
        priority.give(server.pid)
    assert ranks(server.pid) == [Rank(policy=os.SCHED_OTHER, priority=0)] * 4


@pytest.mark.parametrize(("has_it", "why"), [(True, "without real-time budget"), (False, "CAP_")])
def test_who_has_the_capability_does_not_read_that_it_lacks(
    server: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, *, has_it: bool, why: str
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: 1000 if has_it else 0)
    monkeypatch.setattr(rights, "has", lambda *_: has_it)
    with pytest.raises(priority.RefusedError, match=why):
        priority.give(server.pid)


def test_whether_the_kernel_gives_it_is_tried_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tids = [int(entry.name) for entry in Path("/proc/self/task").iterdir()]
    before = {tid: os.sched_getscheduler(tid) for tid in tids}
    priority.is_allowed()
    assert {tid: os.sched_getscheduler(tid) for tid in before} == before
    tried = []

    def answers(errors: list[OSError]) -> None:
        def answer(tid: int, policy: int, param: os.sched_param) -> None:
            tried.append((tid, policy, param.sched_priority))
            if errors:
                raise errors[0]

        monkeypatch.setattr(os, "sched_setscheduler", answer)

    answers([])
    assert priority.is_allowed()
    answers([PermissionError(1, "Operation not permitted")])
    assert not priority.is_allowed()
    assert tried == [(0, os.SCHED_RR, 1)] * 2


def test_a_thread_that_is_gone_has_no_rank(server: subprocess.Popen[str]) -> None:
    (task, *_) = proc.tasks(server.pid)
    server.kill()
    server.wait()
    end = time.monotonic() + 300
    while proc.stat(server.pid) is not None:
        assert time.monotonic() < end
    assert priority.rank(task) is None
    assert priority.without(server.pid) == ()
