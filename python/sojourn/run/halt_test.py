"""Processes are stopped, let go and found again; no one stays stopped, nor is anybody else hit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.errors import Fault, HostFault, SpecFault
from sojourn.knobs.testing import MemoryBook
from sojourn.places import halt, proc
from sojourn.places.halt import Held
from sojourn.run.journal import Journal
from sojourn.run.restore import restore

SLEEPS = "import subprocess, time; p = subprocess.Popen(['/bin/sleep', '300']); p.wait()"
# Its child waits for a writer before it execs, and it for its child.
STARTS = """import os, sys, time
opens = (os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)
os.posix_spawn("/bin/sleep", ["sleep", "300"], {}, file_actions=[opens])
time.sleep(300)
"""
WITHIN_S = 300.0


@pytest.fixture
def parent() -> Iterator[int]:
    """A process that has a child, in a session of its own."""
    task = subprocess.Popen([sys.executable, "-I", "-S", "-c", SLEEPS], start_new_session=True)
    try:
        # One that is stopped between fork and exec keeps its parent from being stopped (vfork).
        until(lambda: "sleep" in {name(one.pid) for one in halt.members(f"pid:{task.pid}")})
        yield task.pid
    finally:
        proc.end(proc.session(task.pid), within_s=10.0)
        task.wait()


def until(is_so: object) -> None:
    """Wait until a function says so; a busy machine may take long."""
    end_s = time.monotonic() + WITHIN_S
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < end_s
        time.sleep(0.01)


def name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def states(pid: int) -> set[str]:
    return {member.state for member in halt.members(f"pid:{pid}")}


def test_a_process_and_its_children_are_stopped_and_let_go_again(parent: int) -> None:
    book = MemoryBook()
    held = Held(book, f"pid:{parent}")
    held.look()
    assert len(book.open) == 1  # in the book before anything is done
    for _ in range(2):
        held.stop()
        until(lambda: states(parent) == {"T"})
        held.go()
        until(lambda: "T" not in states(parent))
    held.stop()
    held.release()
    until(lambda: "T" not in states(parent))
    assert book.open == {}


def test_who_of_a_suspect_lives_is_seen_while_it_runs_is_stopped_and_has_ended(
    parent: int,
) -> None:
    book = MemoryBook()
    held = Held(book, f"pid:{parent}")
    both = {member.pid for member in halt.members(f"pid:{parent}")}
    assert set(held.living(halt.everybody())) == both
    assert book.open == {}  # to look is to do nothing
    held.stop()
    until(lambda: states(parent) == {"T"})
    assert set(held.living(halt.everybody())) == both
    assert Held(book, f"pid:{parent}").living(halt.everybody()) == ()  # somebody else stopped it
    proc.end(proc.session(parent), within_s=10.0)
    until(lambda: held.living(halt.everybody()) == ())
    held.release()


def test_who_was_stopped_before_is_somebody_elses(parent: int) -> None:
    halted = Held(MemoryBook(), f"pid:{parent}")
    halted.stop()
    until(lambda: states(parent) == {"T"})
    book = MemoryBook()
    late = Held(book, f"pid:{parent}")
    late.look()
    assert late.pids == ()
    late.release()
    assert states(parent) == {"T"}
    assert book.open == {}


def test_whom_a_killed_lab_left_stopped_goes_on(parent: int, tmp_path: Path) -> None:
    state = tmp_path / "state"
    journal = Journal.create(state)
    held = Held(journal, f"pid:{parent}")
    held.look()
    held.stop()
    until(lambda: states(parent) == {"T"})
    journal.close()  # as if it had been killed: nothing is crossed out, and no one holds it
    path = journal.path
    path.write_text(path.read_text().replace(f'"pid": {os.getpid()}', '"pid": 1', 1))
    (undone,) = restore(state)
    assert undone.how == "goes on again"
    until(lambda: "T" not in states(parent))
    assert restore(state) == ()


def test_a_stop_that_is_still_to_come_is_taken_back(tmp_path: Path) -> None:
    """A process that starts another is not stopped before that one execs (vfork)."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    words = [sys.executable, "-I", "-S", "-c", STARTS, str(fifo)]
    task = subprocess.Popen(words, start_new_session=True)
    try:
        until(lambda: len(halt.members(f"pid:{task.pid}")) == 2)
        until(lambda: "D" in states(task.pid))
        held = Held(MemoryBook(), f"pid:{task.pid}")
        held.stop()
        until(lambda: states(task.pid) == {"D", "T"})
        ticks = {one.pid: one.start_ticks for one in halt.members(f"pid:{task.pid}")}
        members = [{"pid": pid, "start_ticks": ticks[pid]} for pid in held.pids]
        undone = halt.undo({"what": "it", "members": members})
        assert undone is not None
        assert str(task.pid) in undone.what
        fifo.open("w").close()
        until(lambda: "D" not in states(task.pid))
        assert "T" not in states(task.pid)
    finally:
        proc.end(proc.session(task.pid), within_s=10.0)
        task.wait()


def test_a_number_that_was_used_again_is_never_signalled(parent: int) -> None:
    result = proc.stat(parent)
    assert result is not None
    held = Held(MemoryBook(), f"pid:{parent}")
    held.stop()
    until(lambda: states(parent) == {"T"})
    facts = {"what": "it", "members": [{"pid": parent, "start_ticks": result.start_ticks + 1}]}
    assert halt.undo(facts) is None
    assert "T" in states(parent)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pid:own", SpecFault),
        ("pid:1", SpecFault),
        ("pid:parent", SpecFault),
        ("name:no-such-name", HostFault),
        ("cgroup:/no/such/group", HostFault),
        ("cgroup:/", HostFault),
    ],
)
def test_the_lab_and_who_is_not_there_are_refused(name: str, kind: type[Fault]) -> None:
    name = name.replace("own", str(os.getpid())).replace("parent", str(os.getppid()))
    with pytest.raises(kind) as result:
        halt.check([name], at="services.x.blame.suspects")
    assert name in result.value.what
