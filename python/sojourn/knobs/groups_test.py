"""Control groups: on this machine's own where it lets us, and on a made-up version 2 (a fake)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn.errors import HostFault
from sojourn.host.tree import Tree
from sojourn.knobs import KINDS, Asked, Turned, groups
from sojourn.knobs.testing import MOUNT, FakeV2, MemoryBook, put
from sojourn.places import proc

FORKING = """
import os, sys, time
if os.fork() == 0:
    print("ready", flush=True)
time.sleep(600)
"""
LIVE = Tree()
OWN = "sojourn-"


def alive(code: str) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-I", "-S", "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as made:
        assert made.stdout is not None
        made.stdout.readline()
        members = [member.pid for member in proc.session(made.pid)]
        yield made
        for pid in members:
            os.kill(pid, 9)


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    """Two processes in a session of their own."""
    yield from alive(FORKING)


@pytest.fixture
def book() -> MemoryBook:
    return MemoryBook()


@pytest.fixture
def live(server: subprocess.Popen[str], book: MemoryBook) -> Turned:
    """On this machine's control groups; skips where there are none that can be written."""
    if lack := groups.lacking(Asked(level="", tree=LIVE), "cpu"):
        pytest.skip(lack.missing)
    return Turned(label="web", leader=server.pid, book=book)


Fake = Callable[..., tuple[FakeV2, Turned]]


@pytest.fixture
def fake(
    tmp_path: Path,
    server: subprocess.Popen[str],
    book: MemoryBook,
    monkeypatch: pytest.MonkeyPatch,
) -> Fake:
    """A made-up version 2 that the server's processes are in."""

    def make(home: str = FakeV2.home, handed: str = "") -> tuple[FakeV2, Turned]:
        kernel = FakeV2(tmp_path, [p.pid for p in proc.session(server.pid)], home, handed)
        for name, act in (
            ("_mkdir", kernel.mkdir),
            ("_rmdir", kernel.rmdir),
            ("write", kernel.write),
        ):
            monkeypatch.setattr(groups, name, act)
        return kernel, Turned(label="web", leader=server.pid, book=book, tree=kernel.tree)

    return make


def group_of(pid: int, controller: str) -> str:
    """The group that /proc names."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        number, names, path = line.split(":", 2)
        if controller in names.split(",") or (not names and number == "0"):
            return path
    raise AssertionError(controller)


def test_a_service_goes_into_its_group_and_comes_back(live: Turned, book: MemoryBook) -> None:
    before = {p.pid: group_of(p.pid, "cpu") for p in proc.session(live.leader)}
    assert len(before) == 2
    group = groups.join(live, "cpu", "one")
    assert groups.join(live, "cpu", "two") is group
    assert all(OWN in group_of(pid, "cpu") for pid in before)
    assert group.outside(live.leader) == ()
    groups.leave(live, group, "one")
    assert LIVE.exists(group.folder)
    assert [kind for kind, _ in book.open.values()] == ["cgroup"]
    groups.leave(live, group, "two")
    assert not LIVE.exists(group.folder)
    assert {pid: group_of(pid, "cpu") for pid in before} == before
    assert not book.open


def test_a_process_that_is_outside_is_named_and_moved_in_again(live: Turned) -> None:
    group = groups.join(live, "cpu", "one")
    stray = max(p.pid for p in proc.session(live.leader))
    groups.put(LIVE, group.home, stray)
    assert group.outside(live.leader) == (stray,)
    groups.move_in(live, group, lambda: [one.pid for one in proc.session(live.leader)])
    assert group.outside(live.leader) == ()
    groups.leave(live, group, "one")


def test_what_a_dead_lab_noted_is_undone_with_all_that_is_in_it(
    live: Turned, book: MemoryBook
) -> None:
    before = {p.pid: group_of(p.pid, "cpu") for p in proc.session(live.leader)}
    group = groups.join(live, "cpu", "one")
    with groups.beside(live, group) as other:
        assert LIVE.exists(other)
        (_, first), (_, second) = book.open.values()
        reports = [groups.undo(second), groups.undo(first)]
    assert all(one is not None and one.is_done for one in reports)
    assert not LIVE.exists(group.folder)
    assert {pid: group_of(pid, "cpu") for pid in before} == before
    assert groups.undo(first) is None


def test_only_what_bears_the_labs_name_is_removed(live: Turned, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    assert groups.undo({"folder": "/theirs", "home": "/", "root": str(tmp_path)}) is None
    assert (tmp_path / "theirs").exists()


def test_fake_v2_the_root_hands_a_controller_on_and_takes_it_back(
    fake: Fake, book: MemoryBook
) -> None:
    kernel, on = fake()
    before = kernel.snapshot()
    group = groups.join(on, "cpu", "one")
    assert group.folder.startswith("/sys/fs/cgroup/sojourn-")
    assert groups.join(on, "memory", "two") is group  # one group for all controllers
    assert on.tree.text("/sys/fs/cgroup/cgroup.subtree_control") == "cpu memory"
    assert on.tree.text(f"{group.folder}/memory.max") == "max"
    assert group.outside(on.leader) == ()
    assert len(book.open) == 3
    groups.leave(on, group, "one")
    groups.leave(on, group, "two")
    assert kernel.snapshot() == before
    assert not book.open


def test_fake_v2_a_parent_that_hands_it_on_already_is_where_the_group_is_made(fake: Fake) -> None:
    kernel, on = fake(handed="cpu", home="/user.slice/shell.scope")
    kernel.write(on.tree, "/sys/fs/cgroup/user.slice/cgroup.subtree_control", "+cpu")
    before = kernel.snapshot()
    group = groups.join(on, "cpu", "one")
    assert group.folder.startswith("/sys/fs/cgroup/user.slice/sojourn-")
    groups.leave(on, group, "one")
    assert kernel.snapshot() == before


@pytest.mark.parametrize("controller", ["cpu", "memory"])
def test_fake_v2_a_container_with_processes_in_its_root_group_is_a_lack(
    tmp_path: Path, controller: str
) -> None:
    """Only the machine's own root, which has no `cgroup.type`, may hold some beside groups."""
    kernel = FakeV2(tmp_path, [os.getpid()])
    asked = Asked(level="", tree=kernel.tree)
    put(tmp_path, f"{MOUNT}/cgroup.procs", str(os.getpid()))
    assert groups.lacking(asked, controller) is None
    put(tmp_path, f"{MOUNT}/cgroup.type", "domain")
    lack = groups.lacking(asked, controller)
    assert lack is not None
    assert "holds processes itself" in lack.missing
    assert f"mkdir {MOUNT}/init" in lack.fix
    assert f">{MOUNT}/init/cgroup.procs" in lack.fix
    assert "--cgroupns=host" in lack.fix
    kernel.mkdir(kernel.tree, f"{MOUNT}/init")
    kernel.write(kernel.tree, f"{MOUNT}/init/cgroup.procs", str(os.getpid()))
    assert groups.lacking(asked, controller) is None


@pytest.mark.parametrize("is_killed", [False, True], ids=["ends", "is killed"])
def test_fake_v2_each_process_goes_back_to_the_group_that_it_was_in(
    fake: Fake, book: MemoryBook, *, is_killed: bool
) -> None:
    kernel, on = fake()
    other, stray = f"{MOUNT}/user.slice/other.scope", max(p.pid for p in proc.session(on.leader))
    kernel.mkdir(on.tree, other)
    kernel.write(on.tree, f"{other}/cgroup.procs", str(stray))
    before = kernel.snapshot()
    group = groups.join(on, "cpu", "one")
    assert group.outside(on.leader) == ()
    if is_killed:
        for _, facts in reversed(book.open.values()):
            groups.undo(facts)
    else:
        groups.leave(on, group, "one")
        assert not book.open
    assert kernel.snapshot() == before


def test_fake_v2_one_whose_group_is_gone_goes_where_the_first_one_goes(fake: Fake) -> None:
    kernel, on = fake()
    other, stray = f"{MOUNT}/user.slice/other.scope", max(p.pid for p in proc.session(on.leader))
    kernel.mkdir(on.tree, other)
    kernel.write(on.tree, f"{other}/cgroup.procs", str(stray))
    group = groups.join(on, "cpu", "one")
    kernel.rmdir(on.tree, other)
    groups.leave(on, group, "one")
    assert str(stray) in (on.tree.text(f"{group.home}/cgroup.procs") or "").split()


def test_fake_v2_what_is_started_while_others_are_moved_is_moved_as_well(fake: Fake) -> None:
    _, on = fake()
    group = groups.hold(on, "cpu", "one")
    first, second = sorted(one.pid for one in proc.session(on.leader))
    lists = iter(([first], [first, second], [first, second]))
    groups.move_in(on, group, lambda: next(lists))
    assert group.outside(on.leader) == ()
    groups.leave(on, group, "one")


def test_fake_v2_who_starts_processes_without_end_is_refused(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, on = fake()
    group = groups.hold(on, "cpu", "one")
    monkeypatch.setattr(groups, "put", lambda *_: None)  # each time there is another one outside
    with pytest.raises(OSError, match="faster than they can be moved"):
        groups.move_in(on, group, lambda: [on.leader])
    groups.leave(on, group, "one")


def test_fake_v2_after_a_crash_everything_is_as_it_was(fake: Fake, book: MemoryBook) -> None:
    kernel, on = fake()
    before = kernel.snapshot()
    groups.join(on, "cpu", "one")
    for _, facts in reversed(book.open.values()):
        report = groups.undo(facts)
        assert report is not None
        assert report.is_done
    assert kernel.snapshot() == before
    assert all(groups.undo(facts) is None for _, facts in book.open.values())


def test_fake_v2_a_controller_stays_while_another_labs_group_needs_it(
    fake: Fake, book: MemoryBook
) -> None:
    kernel, on = fake()
    group = groups.join(on, "cpu", "one")
    kernel.mkdir(on.tree, "/sys/fs/cgroup/sojourn-other")
    groups.leave(on, group, "one")
    ((_, facts),) = book.open.values()
    assert on.tree.text("/sys/fs/cgroup/cgroup.subtree_control") == "cpu"
    report = groups.undo(facts)
    assert report is not None
    assert not report.is_done
    kernel.rmdir(on.tree, "/sys/fs/cgroup/sojourn-other")
    report = groups.undo(facts)
    assert report is not None
    assert report.is_done
    assert on.tree.text("/sys/fs/cgroup/cgroup.subtree_control") == ""


@pytest.mark.parametrize(
    ("name", "level", "file", "text"),
    [
        ("cpu_weight", "200", "cpu.weight", "200"),
        ("cpu_quota", "50%", "cpu.max", "50000 100000"),
        ("cpu_quota", "20ms/50ms+10ms", "cpu.max.burst", "10000"),
        ("memory_limit", "64MiB", "memory.max", str(64 << 20)),
        ("numa", "1", "cpuset.mems", "1"),
    ],
)
def test_fake_v2_every_limit_is_written_read_back_and_taken_away(  # noqa: PLR0917  # its cases
    fake: Fake, book: MemoryBook, name: str, level: str, file: str, text: str
) -> None:
    kernel, on = fake()
    before = kernel.snapshot()
    knob = KINDS[name].build(on)
    knob.apply(level)
    ((path, result),) = [
        (p, t) for p, t in kernel.snapshot().items() if "sojourn-" in p and p.endswith(f"/{file}")
    ]
    assert result == text
    assert "v2" in knob.by
    assert knob.verify().verdict == "unknown"  # no effect can be seen on a fake
    assert knob.verify().why.startswith("it reads back")
    Path(path).write_text("7")
    assert knob.verify().verdict == "violated"
    knob.restore()
    assert kernel.snapshot() == before
    assert not book.open


def test_fake_v2_what_the_kernel_refuses_is_reported(fake: Fake, book: MemoryBook) -> None:
    kernel, on = fake()
    kernel.refuses.add("cpu.max")
    knob = KINDS["cpu_quota"].build(on)
    with pytest.raises(HostFault) as caught:
        knob.apply("50%")
    assert caught.value.at == "services.web.knobs.cpu_quota"
    knob.restore()
    assert not book.open


def test_a_controller_that_is_nowhere_is_reported_with_its_fix(tmp_path: Path) -> None:
    lack = KINDS["cpu_quota"].lacks(Asked(level="50%", tree=Tree(tmp_path)))
    assert lack is not None
    assert "controller cpu" in lack.missing
    assert "mount" in lack.fix
