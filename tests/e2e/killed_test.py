"""A lab that dies at any step of what it does: `restore` leaves nothing of it. See `killed.py`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import knobs
from sojourn.knobs import attr, rps, thp
from sojourn.places import network, proc
from sojourn.run import journal
from sojourn.run.restore import restore

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

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


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("cpu_quota", ("50%", "20ms/50ms+10ms")),
        ("memory_limit", ("512MiB", "none")),
        ("numa", ("0", "none")),
        ("policy", ("batch", "nice:5")),
        ("thp", ("never", "always")),
        ("rps", ("0", "1")),
    ],
)
def test_a_knob_leaves_nothing(
    tmp_path: Path, lab: SimpleNamespace, server: int, name: str, levels: tuple[str, str]
) -> None:
    if lack := knobs.kind(name).lacks(knobs.Asked(level=levels[0])):
        pytest.skip(lack.missing)

    def seen() -> object:
        groups = [text(Path(f"/proc/{server}/cgroup")), *made_groups()]
        orders = [attr.get(task.tid) for task in proc.tasks(server)]
        files = (thp.PATH, rps.PATH, f"/proc/{server}/autogroup")
        return groups, orders, [text(Path(path)) for path in files]

    dirty = lab.killed_at_every_step("knob", tmp_path, seen, str(server), name, *levels)
    assert len(dirty) >= 2  # after the first change, and after the last


def made_groups() -> list[Path]:
    """Control groups that bear the lab's name."""
    return sorted(Path("/sys/fs/cgroup").rglob("sojourn-*"))


def test_no_bandwidth_limit_is_left(tmp_path: Path, lab: SimpleNamespace, server: int) -> None:
    if lack := knobs.kind("egress").lacks(knobs.Asked(level="1MB/s")):
        pytest.skip(lack.missing)

    def qdiscs() -> list[object]:
        with network.netlink() as route:
            seen = [(q["index"], q["parent"], q.get_attr("TCA_KIND")) for q in route.get_qdiscs()]
        return sorted(seen)

    words = (str(server), "egress", "500MB/s", "1000MB/s")
    assert len(lab.killed_at_every_step("knob", tmp_path, qdiscs, *words)) >= 3


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
        contents = [text(Path(f"/proc/{pid}/cmdline")) for pid in proc.pids()]
        return any(name.encode() in words and b"killed.py" not in words for words in contents)

    for _, state, _ in lab.deaths("process", tmp_path, name):
        restore(state)
        eventually(lambda: not runs(), f"it still runs after {state.name} steps")
        assert restore(state) == ()
        assert not list(state.glob("*"))
    assert int(state.name) > 4


@pytest.mark.parametrize(
    "what", ["folder", "cpuset", "knob"], ids=["working folder", "CPUs of tasks", "huge pages"]
)
def test_after_a_power_cut_files_are_removed_and_what_is_in_memory_is_the_new_boots(
    tmp_path: Path, lab: SimpleNamespace, server: int, what: str
) -> None:
    """Settings and numbers of processes are gone with the boot; the new ones are not the lab's."""
    if what == "knob" and (lack := knobs.kind("thp").lacks(knobs.Asked(level="never"))):
        pytest.skip(lack.missing)
    more = {"folder": (), "cpuset": (str(server),)}.get(
        what, (str(server), "thp", "never", "always")
    )

    def memory() -> object:
        cpus = {task.tid: os.sched_getaffinity(task.tid) for task in proc.tasks(server)}
        return cpus, text(Path(thp.PATH))

    def folders() -> list[Path]:
        return sorted(Path(tempfile.gettempdir()).glob("sojourn-*"))

    before, begun, changed = folders(), memory(), 0
    for step, state, _ in lab.deaths(what, tmp_path, *more):
        booted = tmp_path / f"booted-{step}"
        shutil.copytree(state, booted)
        for path in booted.iterdir():
            path.write_bytes(path.read_bytes().replace(this_boot(), b"another"))
        was = memory()
        changed += (was, folders()) != (begun, before)
        undone = restore(booted)
        assert all(one.is_done and "working files" in one.what for one in undone), undone
        assert (memory(), folders(), list(booted.iterdir())) == (was, before, [])
        restore(state)
    assert changed > 1


def this_boot() -> bytes:
    """This boot, as a journal names it."""
    return journal.boot_id().encode()


def text(path: Path) -> bytes:
    """What a file holds; nothing if it is gone."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
