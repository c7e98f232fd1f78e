"""What a task starts has its policy, and is put back with it after a crash."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sojourn.host.tree import Tree
from sojourn.knobs import attr, settings
from sojourn.knobs.attr import Attr
from sojourn.knobs.settings import POLICY, Setting
from sojourn.places import proc
from sojourn.run import moving

FORKS = """
import os, sys, time
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        time.sleep(600)
    print(pid, flush=True)
"""
BATCH = Attr(attr.BATCH)


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    """A program that starts another for each line."""
    pipe = subprocess.PIPE
    words = [sys.executable, "-I", "-S", "-c", FORKS]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as one:
        yield one
        one.kill()


@pytest.fixture
def children() -> Iterator[list[int]]:
    """Those that the test has started."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        os.kill(pid, 9)


def started(parent: subprocess.Popen[str], children: list[int]) -> int:
    assert parent.stdin is not None
    assert parent.stdout is not None
    parent.stdin.write("\n")
    parent.stdin.flush()
    children.append(int(parent.stdout.readline()))
    return children[-1]


def changed(pid: int, *, start_ticks: int = 0) -> Setting:
    """A process that gets another policy, with what it had."""
    before = attr.get(pid)
    attr.put(pid, BATCH)
    since = start_ticks or settings.start_ticks(Tree(), pid, pid)
    return Setting(
        kind=POLICY, what="a", pid=pid, tid=pid, start_ticks=since, old=before.text, new=BATCH.text
    )


def test_what_it_started_since_is_put_back_and_what_was_there_before_is_not(
    parent: subprocess.Popen[str], children: list[int]
) -> None:
    older = started(parent, children)
    attr.put(older, BATCH)  # by itself
    at_ticks = settings.start_ticks(Tree(), older, older) + 1
    assert proc.now_ticks() + 1 >= at_ticks
    noted = changed(parent.pid)
    while (child := started(parent, children)) and (
        settings.start_ticks(Tree(), child, child) < at_ticks
    ):
        continue
    assert attr.get(child) == BATCH, "inherited"
    assert moving.restore([noted], at_ticks, Tree()) == ()
    assert [attr.get(pid).text for pid in (parent.pid, child)] == [noted.old] * 2
    assert attr.get(older) == BATCH


def test_what_another_process_of_the_number_started_is_its_own(
    parent: subprocess.Popen[str], children: list[int]
) -> None:
    since = settings.start_ticks(Tree(), parent.pid, parent.pid)
    noted = changed(parent.pid, start_ticks=since - 1)
    child = started(parent, children)
    assert moving.restore([noted], since, Tree()) == ()
    assert [attr.get(pid) for pid in (parent.pid, child)] == [BATCH] * 2
