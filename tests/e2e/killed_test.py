"""A lab that dies at any step of what it does: `restore` leaves nothing of it. See `killed.py`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn.places import proc
from sojourn.run.restore import restore

pytestmark = pytest.mark.e2e

THREADS = """
import os, threading, time
ready = threading.Barrier(3)
def work(cpus):
    os.sched_setaffinity(0, cpus)
    ready.wait()
    time.sleep(600)
for cpus in ({0, 1}, {1}):
    threading.Thread(target=work, args=(cpus,), daemon=True).start()
ready.wait()
print(flush=True)
time.sleep(600)
"""


@pytest.fixture
def server() -> Iterator[int]:
    """The first process of a server with three threads, one of them pinned to CPU 1."""
    if not {0, 1} <= os.sched_getaffinity(0):
        pytest.skip("needs CPUs 0 and 1 to move threads between")
    words = [sys.executable, "-I", "-S", "-c", THREADS]
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as made:
        assert made.stdout is not None
        made.stdout.readline()
        yield made.pid
        made.kill()


def test_cpus_of_every_thread_are_what_they_were(
    tmp_path: Path, lab: SimpleNamespace, server: int
) -> None:
    def cpus() -> dict[int, set[int]]:
        return {task.tid: os.sched_getaffinity(task.tid) for task in proc.tasks(server)}

    dirty = lab.killed_at_every_step("cpuset", tmp_path, cpus, str(server))
    # Noted, three threads changed one by one, twice; crossed out; put back one by one.
    assert len(dirty) >= 8


def test_no_working_folder_is_left(tmp_path: Path, lab: SimpleNamespace) -> None:
    def folders() -> list[Path]:
        return sorted(Path(tempfile.gettempdir()).glob("sojourn-*"))

    dirty = lab.killed_at_every_step("folder", tmp_path, folders)
    assert len(dirty) >= 2  # made and not marked; marked


def test_no_program_is_left(
    tmp_path: Path,
    lab: SimpleNamespace,
    eventually: Callable[[Callable[[], bool], str], None],
) -> None:
    name = f"sojourn-test-{uuid.uuid4().hex}"

    def runs() -> bool:
        paths = (Path(f"/proc/{pid}/cmdline") for pid in proc.pids())
        return any(name.encode() in text(path) for path in paths)

    for step in range(1, lab.STEPS_MAX):
        state = tmp_path / str(step)
        words = [sys.executable, str(lab.KILLED), "process", str(state), str(step), name]
        ended = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)
        assert ended.returncode in {0, -9}, ended.stderr
        restore(state)
        eventually(lambda: not runs(), f"it still runs after step {step}")
        assert restore(state) == ()
        assert not list(state.glob("*"))
        if ended.returncode == 0:
            break
    assert 4 < step < lab.STEPS_MAX - 1


def text(path: Path) -> bytes:
    """What a file holds; nothing if it is gone."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
