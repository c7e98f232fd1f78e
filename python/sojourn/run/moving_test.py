"""Moving on a fake machine: files in a folder, and threads of processes that a test started.

The fake's /proc holds links to those processes and to no others, so nothing else can be touched.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn.host.tree import Tree
from sojourn.knobs import settings
from sojourn.knobs.settings import Setting
from sojourn.run import journal, moving
from sojourn.run.journal import Journal
from sojourn.run.moving import CpuSets
from sojourn.run.restore import _names, restore

ROOM = CpuSets(server=(1,), client=(0,), usable=(0, 1))
BIG = CpuSets(server=(2, 3), client=(1,), usable=(0, 1, 2, 3))
FILES = {
    "/proc/irq/default_smp_affinity": "3",
    "/proc/irq/24/smp_affinity_list": "0-1",
    "/proc/irq/25/smp_affinity_list": "0",
    "/proc/irq/26/smp_affinity_list": "1",
    "/sys/devices/virtual/workqueue/cpumask": "3",
    "/sys/devices/virtual/workqueue/writeback/cpumask": "00000003",
}
Link = Callable[[int], None]
PARENT = """
import os, sys, time
print(flush=True)
sys.stdin.readline()
child = os.fork()
if child:
    print(child, flush=True)
time.sleep(600)
"""
KILLED = """
import os, signal, sys
from pathlib import Path
from sojourn.host.tree import Tree
from sojourn.run import moving
from sojourn.run.journal import Journal
root, state = Path(sys.argv[1]), Path(sys.argv[2])
room = moving.CpuSets(server=(1,), client=(0,), usable=(0, 1))
moving.begin(room, Journal.create(state), Tree(root))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A fake machine with two CPUs and no processes."""
    for path, text in FILES.items():
        file = tmp_path / "root" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    return tmp_path / "root"


@pytest.fixture
def link(root: Path) -> Link:
    """Let the fake's /proc hold one process, which the test started."""

    def make(pid: int) -> None:
        (root / f"proc/{pid}").symlink_to(f"/proc/{pid}")

    return make


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path / "state")
    yield made
    made.close()


@pytest.fixture
def shell(link: Link) -> Iterator[subprocess.Popen[str]]:
    """A process that the lab did not start, as far as it knows; a line makes it fork."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs to move a process between")
    pipe = subprocess.PIPE
    words = [sys.executable, "-I", "-S", "-c", PARENT]
    with subprocess.Popen(
        words, stdin=pipe, stdout=pipe, text=True, start_new_session=True
    ) as made:
        assert made.stdout is not None
        made.stdout.readline()
        link(made.pid)
        yield made
        os.killpg(made.pid, signal.SIGKILL)


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's children are not the lab's: as if somebody else had started them."""
    monkeypatch.setattr(moving, "_descendants", lambda ancestor, tree: {ancestor})


def texts(root: Path) -> dict[str, str]:
    return {path: (root / path.lstrip("/")).read_text().strip() for path in FILES}


def test_files_leave_the_servers_cpus_and_come_back(root: Path, notes: Journal) -> None:
    moved = moving.begin(ROOM, notes, Tree(root))
    assert texts(root) == {
        "/proc/irq/default_smp_affinity": "1",
        "/proc/irq/24/smp_affinity_list": "0",
        "/proc/irq/25/smp_affinity_list": "0",
        "/proc/irq/26/smp_affinity_list": "0",
        "/sys/devices/virtual/workqueue/cpumask": "1",
        "/sys/devices/virtual/workqueue/writeback/cpumask": "1",
    }
    assert moved.facts == {"tasks": 0, "interrupts": 3, "kernel_work": 2, "refused": []}
    moved.put_back()
    assert {path: int(text.replace("-", ""), 16) for path, text in texts(root).items()} == {
        path: int(text.replace("-", ""), 16) for path, text in FILES.items()
    }
    notes.close()
    assert not notes.path.exists()


def test_what_is_to_be_changed_is_in_the_journal_before_it_is(
    root: Path, notes: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def look(setting: Setting, cpus: str, tree: Tree) -> str:
        del setting, cpus, tree
        (left,) = journal.read(notes.path.parent)
        seen.append(len(left.entries[0].facts["settings"]))
        return ""

    monkeypatch.setattr(settings, "change", look)
    moving.begin(ROOM, notes, Tree(root)).put_back()
    assert seen[0] == len(seen[:5]) == 5


def test_kill_9_between_change_and_restore(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "killed"
    words = [sys.executable, "-c", KILLED, str(root), str(state)]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    assert texts(root)["/proc/irq/24/smp_affinity_list"] == "0"
    (undone,) = restore(state, Tree(root))
    assert undone.is_done
    assert undone.what == "CPUs of 5 tasks and interrupts"
    assert texts(root)["/proc/irq/24/smp_affinity_list"] == "0-1"
    assert texts(root)["/sys/devices/virtual/workqueue/cpumask"] == "3"
    assert list(state.iterdir()) == []
    assert restore(state, Tree(root)) == ()


def test_what_somebody_else_has_set_since_is_theirs(root: Path, notes: Journal) -> None:
    moved = moving.begin(BIG, notes, Tree(root))
    assert moved.facts["interrupts"] == 0  # nothing runs on CPUs 2 and 3 of this machine
    moved.put_back()
    moved = moving.begin(ROOM, notes, Tree(root))
    path = root / "proc/irq/26/smp_affinity_list"
    path.write_text("0-1\n")
    moved.put_back()
    assert path.read_text() == "0-1\n"


def test_what_cannot_be_moved_is_named(
    root: Path, notes: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.write_text

    def managed(self: Path, text: str, **options: str) -> int:
        if self.parent.name == "24":
            raise OSError(5, "Input/output error")
        return real(self, text, **options)

    monkeypatch.setattr(Path, "write_text", managed)
    moved = moving.begin(ROOM, notes, Tree(root))
    assert moved.facts["refused"] == ["interrupt 24: Input/output error"]
    assert moved.facts["interrupts"] == 2
    moved.put_back()
    notes.close()
    assert not notes.path.exists()


@pytest.mark.usefixtures("stranger")
def test_a_process_is_moved_and_comes_back_with_what_it_started_meanwhile(
    root: Path, notes: Journal, shell: subprocess.Popen[str], link: Link
) -> None:
    before = os.sched_getaffinity(shell.pid)
    server = max(before)
    room = CpuSets(server=(server,), client=(), usable=tuple(before))
    own = os.sched_getaffinity(0)
    moved = moving.begin(room, notes, Tree(root))
    assert moved.facts["tasks"] == 1
    assert os.sched_getaffinity(shell.pid) == before - {server}
    assert shell.stdin is not None
    assert shell.stdout is not None
    shell.stdin.write("\n")
    shell.stdin.flush()
    child = int(shell.stdout.readline())
    link(child)
    assert os.sched_getaffinity(child) == before - {server}
    moved.put_back()
    assert os.sched_getaffinity(shell.pid) == before
    assert os.sched_getaffinity(child) == before
    assert os.sched_getaffinity(0) == own


@pytest.mark.usefixtures("stranger")
def test_a_kernel_worker_of_one_cpu_that_was_made_meanwhile_keeps_it(
    root: Path, notes: Journal, shell: subprocess.Popen[str]
) -> None:
    before = os.sched_getaffinity(shell.pid)
    room = CpuSets(server=(max(before),), client=(), usable=tuple(before))
    moved = moving.begin(room, notes, Tree(root))
    assert shell.stdin is not None
    assert shell.stdout is not None
    shell.stdin.write("\n")
    shell.stdin.flush()
    child = int(shell.stdout.readline())
    bound(root, child)
    moved.put_back()
    assert os.sched_getaffinity(shell.pid) == before
    assert os.sched_getaffinity(child) == before - {max(before)}


def bound(root: Path, pid: int) -> None:
    """The fake's /proc says that this process may not be given other CPUs (PF_NO_SETAFFINITY)."""
    name, _, rest = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")
    fields = rest.split()
    fields[moving.FLAGS] = str(int(fields[moving.FLAGS]) | moving.NO_SETAFFINITY)
    for folder in (root / f"proc/{pid}", root / f"proc/{pid}/task/{pid}"):
        folder.mkdir(parents=True)
        (folder / "stat").write_text(f"{name}) {' '.join(fields)}\n")


@pytest.mark.usefixtures("stranger")
def test_a_number_that_was_given_away_again_is_not_hit(shell: subprocess.Popen[str]) -> None:
    before = os.sched_getaffinity(shell.pid)
    started = settings.start_ticks(Tree(), shell.pid, shell.pid)
    other = Setting(
        kind="affinity",
        what="",
        pid=shell.pid,
        tid=shell.pid,
        start_ticks=started - 1,
        old="0",
        new="0-1",
    )
    assert settings.read(other, Tree()) is None
    assert settings.put_back(other, Tree()) == ""
    assert os.sched_getaffinity(shell.pid) == before


def test_the_labs_own_processes_are_left_where_they_are(
    root: Path, notes: Journal, shell: subprocess.Popen[str], link: Link
) -> None:
    link(os.getpid())
    before = os.sched_getaffinity(shell.pid)  # a child of this test, which is the lab here
    moved = moving.begin(ROOM, notes, Tree(root))
    assert moved.facts["tasks"] == 0
    assert os.sched_getaffinity(shell.pid) == before
    moved.put_back()


@pytest.mark.parametrize(
    ("cpus", "instead"),
    [((0, 1, 2, 3), (0,)), ((1, 2), (1,)), ((2,), (0,)), ((0, 1), (0,))],
)
def test_where_things_may_run_instead(cpus: tuple[int, ...], instead: tuple[int, ...]) -> None:
    assert BIG.instead(cpus) == instead


def test_there_may_be_no_other_cpu() -> None:
    assert CpuSets(server=(0,), client=(0,), usable=(0,)).instead((0,)) == ()


@pytest.mark.parametrize("cpus", [(0,), (1, 31), (0, 32, 65), (63,)])
def test_masks_are_read_as_they_are_written(cpus: tuple[int, ...]) -> None:
    mask = "/proc/irq/default_smp_affinity"
    assert settings.file_cpus(mask, settings.file_text(mask, cpus)) == cpus
    listed = "/proc/irq/1/smp_affinity_list"
    assert settings.file_cpus(listed, settings.file_text(listed, cpus)) == cpus


def test_a_limit_of_a_disk_or_a_stopped_group_is_named_and_not_taken_for_cpus() -> None:
    def one(kind: str) -> Setting:
        return Setting(kind=kind, what=f"{kind} of batch", path="/x", old="1", new="2")

    names = _names([one(settings.DISK), one(settings.FREEZER), one(settings.FILE)])
    assert names == "disk of batch, freezer of batch, CPUs of 1 tasks and interrupts"
