"""Threads of real processes: those that come and go are seen at the next look."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.host.tree import Tree
from sojourn.manage import open_files as module
from sojourn.manage.open_files import OpenFiles
from sojourn.manage.testing import SLEEP, TREE
from sojourn.manage.threads import Threads


@pytest.fixture
def files() -> Iterator[OpenFiles]:
    one = OpenFiles(TREE)
    yield one
    one.close()


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def tids() -> set[int]:
    return {int(at.name) for at in Path("/proc/self/task").iterdir()}


def test_a_thread_that_starts_is_seen_and_one_that_ended_is_not(files: OpenFiles) -> None:
    threads, me = Threads(TREE, files), (os.getpid(),)
    assert threads.schedstats(me).keys() == tids()
    go = threading.Event()
    for _ in range(3):  # one ends and another starts between two looks: the number is the same
        one = threading.Thread(target=go.wait)
        one.start()
        assert threads.schedstats(me).keys() == tids()
        assert one.native_id in tids()
        go.set()
        one.join()
        go.clear()
    other = threading.Thread(target=go.wait)
    other.start()
    assert threads.schedstats(me).keys() == tids()
    go.set()
    other.join()
    assert threads.schedstats(me).keys() == tids()


def test_what_is_counted_is_what_the_kernel_says_now(files: OpenFiles) -> None:
    threads, me, tid = Threads(TREE, files), (os.getpid(),), threading.get_native_id()
    first = threads.schedstats(me)[tid]
    while threads.schedstats(me)[tid].ran_ns == first.ran_ns:  # it runs meanwhile
        pass
    now, text = threads.schedstats(me)[tid], Path(f"/proc/self/task/{tid}/schedstat").read_text()
    assert first.ran_ns < now.ran_ns <= int(text.split()[0])


def test_a_process_that_ended_leaves_no_open_file(files: OpenFiles) -> None:
    threads, before = Threads(TREE, files), open_files()
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", SLEEP]) as one:
        pids = (os.getpid(), one.pid)
        assert one.pid in threads.schedstats(pids)
        assert open_files() > before
        one.kill()
        one.wait(20)
        assert one.pid not in threads.schedstats(pids), "its file cannot be read any more"
    threads.schedstats(())
    assert open_files() == before


def test_no_more_files_stay_open_than_may(
    files: OpenFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILES_MAX", 1)
    before, go = open_files(), threading.Event()
    one = threading.Thread(target=go.wait)
    one.start()
    try:
        assert Threads(TREE, files).schedstats((os.getpid(),)).keys() == tids()
        assert open_files() == before + 1
    finally:
        go.set()
        one.join()


def test_a_kernel_that_does_not_count_links_is_asked_each_time(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    threads = Threads(tree, OpenFiles(tree))
    for number in (5, 6):  # in the folder of a fake, each folder is a link as well: as many files
        at = tmp_path / f"proc/7/task/{number}"
        at.mkdir(parents=True)
        (at / "schedstat").write_text("5 7 2")
        assert max(threads.schedstats((7,))) == number


def test_a_file_whose_path_another_one_has_is_opened_again(files: OpenFiles) -> None:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", SLEEP]) as one:
        path = f"/proc/{one.pid}/schedstat"
        assert files.whole(path)
        one.kill()
        one.wait(20)
    assert files.whole(path) is None
    assert not files._handles
