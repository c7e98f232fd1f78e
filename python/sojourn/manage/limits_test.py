"""Memory, disk and pause of a named group: in force, read back, and put back."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.controllers.look import Allocation, Knob, Level
from sojourn.controllers.testing import look
from sojourn.errors import HostFault, RunFault, SpecFault
from sojourn.host.tree import Tree
from sojourn.knobs import groups, io_limit, settings
from sojourn.knobs.groups import Group, Hierarchy
from sojourn.knobs.settings import Setting
from sojourn.manage import accounts, limits, reload, testing
from sojourn.manage import config as configs
from sojourn.manage.bites import Bites
from sojourn.manage.daemon_test import here, journals, played, state, undone_as_of_the_dead
from sojourn.manage.groups import Managed
from sojourn.manage.testing import TREE, Stand, until

__all__ = ["here", "state"]
needs_groups = pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-")
DISK = "8:16"
LEVELS: list[tuple[Knob, Level]] = [("memory", 64 << 20), ("io", 5_000_000), ("frozen", True)]


def second(tmp_path: Path) -> tuple[Tree, Group]:
    """A group of version 2 in a fake tree: a fake may test the forms, not what they do."""
    at = tmp_path / "sys/fs/cgroup/batch"
    at.mkdir(parents=True)
    texts = {
        "memory.high": "max",
        "io.max": f"8:0 rbps=9 wbps=9 riops=max wiops=max\n{DISK} rbps=max",
        "cgroup.freeze": "0",
        "io.stat": f"8:0 rbytes=1 wbytes=1\n{DISK} rbytes=300 wbytes=20",
    }
    for name, text in texts.items():
        (at / name).write_text(text + "\n")
    tree = Tree(tmp_path)
    hierarchy = Hierarchy(version=2, mount="/sys/fs/cgroup", root="/", controller="memory")
    folder = "/sys/fs/cgroup/batch"
    return tree, Group(tree=tree, hierarchy=hierarchy, folder=folder, home=folder, entry=0)


@pytest.mark.parametrize(("knob", "level"), LEVELS)
def test_version_2_reads_back_what_was_written(knob: Knob, level: Level, tmp_path: Path) -> None:
    tree, group = second(tmp_path)
    off: Level = False if knob == "frozen" else None
    assert limits.read(knob, group, DISK) == off
    for wanted in (level, off):
        for path, text in limits.steps(knob, group, DISK, wanted):
            tree.path(path).write_text(text)  # whole, as the kernel takes it
        assert limits.read(knob, group, DISK) == wanted
        assert limits.is_as_set(knob, group, DISK, wanted)
        assert not limits.is_as_set(knob, group, DISK, 4096 if knob != "frozen" else not wanted)


def test_memory_is_limited_in_pages_of_this_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, group = second(tmp_path)
    monkeypatch.setattr(mmap, "PAGESIZE", 1 << 16)
    ((path, text),) = limits.steps("memory", group, DISK, 100_000)
    assert text == str(1 << 16)
    tree.path(path).write_text(text)
    assert limits.is_as_set("memory", group, DISK, 100_000)


def test_version_2_counts_the_bytes_of_one_disk(tmp_path: Path) -> None:
    _, group = second(tmp_path)
    assert accounts.disk_bytes(group.tree, group.folder, group.version, DISK) == 320
    assert accounts.disk_bytes(group.tree, group.folder, group.version, "9:9") == 0


def test_a_path_on_btrfs_is_on_the_one_disk_that_the_kernel_lists(tmp_path: Path) -> None:
    root, work = tmp_path / "machine", tmp_path / "work"
    work.mkdir()
    texts = {
        "proc/self/mountinfo": f"40 1 0:40 / {work.resolve()} rw - btrfs /dev/vdb rw",
        "sys/fs/btrfs/one/devices/vdb/dev": "99:16",
        "sys/dev/block/99:16/dev": "99:16",
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text + "\n")
    assert limits.disk(Tree(root), str(work)) == "99:16"
    assert limits.disk(Tree(root), str(work / "missing")) == limits.disk(Tree(root), "") == ""


def test_what_can_be_moved_depends_on_hierarchies_and_the_disk(tmp_path: Path) -> None:
    tree, group = second(tmp_path)
    assert {*limits.find(lambda _: group, tree, DISK)} == {"memory", "io", "frozen"}
    assert {*limits.find(lambda _: group, tree, "")} == {"memory", "frozen"}
    assert limits.find(lambda _: None, tree, DISK) == {}


@pytest.mark.parametrize(
    ("text", "new", "now"),
    [
        ("8:16 1000\n8:0 5", "8:16 700", "8:16 1000"),
        ("", "8:16 700", "8:16 0"),
        ("8:0 5", "8:16 700", "8:16 0"),
        ("8:16 rbps=7 wbps=max riops=max", "8:16 rbps=1 wbps=2", "8:16 rbps=7 wbps=max"),
        ("", "8:16 rbps=1 wbps=2", "8:16 rbps=max wbps=max"),
        ("8:16 rbps=7", "", None),
    ],
)
def test_the_line_of_a_disk_is_read_as_it_would_be_written(
    text: str, new: str, now: str | None, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text(text)
    one = Setting(kind=settings.DISK, what="w", path="/file", old="", new=new)
    assert settings.read(one, Tree(tmp_path)) == now


@pytest.fixture
def free(here: Stand) -> Iterator[Stand]:
    """The groups; none stays frozen, whatever failed: a frozen task cannot be killed."""
    yield here
    path, text = _freezer(here)
    if path.exists() and os.access(path, os.W_OK):
        path.write_text(text)


@needs_groups
def test_a_group_is_stopped_and_limited_and_runs_again_at_the_end(free: Stand, state: Path) -> None:
    if limits.disk(TREE, str(free.folder)) == "":
        pytest.skip("the folder is on no disk that could be limited")
    free.more = f'disk = "{free.folder}"'
    seen: dict[str, Any] = {}
    pid = free.programs["batch"].pid

    def looked() -> None:
        seen["is stopped"], seen["limits"] = _is_stopped(free), _limits(free)

    steps: list[Callable[[], object]] = [free.window, free.window, looked]
    played(free, steps, "static", constants={"frozen": 1, "io": 3e6})
    assert seen["is stopped"]
    assert all("3000000" in text for text in seen["limits"])
    assert not _is_stopped(free)
    assert "3000000" not in "".join(_limits(free))
    assert until(lambda: Path(f"/proc/{pid}/status").read_text().count("S (sleeping)"))
    assert not journals(state)


@needs_groups
def test_who_finds_the_journal_of_a_dead_manager_lets_the_group_run(
    free: Stand, state: Path
) -> None:
    free.more = f'disk = "{free.folder}"' if limits.disk(TREE, str(free.folder)) else ""

    def fail() -> None:
        raise RunFault("a fault", at="here", fix="none")  # nothing is put back

    constants = {"frozen": 1.0} | ({"io": 3e6} if free.more else {})
    with pytest.raises(RunFault, match="a fault"):
        played(free, [free.window, free.window, fail], "static", constants=constants)
    assert _is_stopped(free)
    undone_as_of_the_dead(state)
    assert not _is_stopped(free)
    assert not free.more or "3000000" not in "".join(_limits(free))


@needs_groups
@pytest.mark.parametrize(
    ("disk", "word"), [("/proc/self", "on no disk"), ("/there/is/none", "on no disk")]
)
def test_a_disk_that_is_none_is_refused(disk: str, word: str, free: Stand, state: Path) -> None:
    free.more = f'disk = "{disk}"'
    with pytest.raises(HostFault, match=word):
        played(free, [free.window], "static", constants={"io": 3e6})
    assert not journals(state)


@pytest.mark.parametrize(
    ("allowed", "has", "word"),
    [
        ({"io": 1e6}, {"io": 3e6}, ""),
        ({"io": 1e6}, {"io": 9e6}, "9 MB/s for 2 s where 2 are allowed"),
        ({"frozen": True}, {"cpu": 0.01}, ""),
        ({"frozen": True}, {"cpu": 0.5}, "while it was to be stopped"),
        ({"quota": 0.5}, {"cpu": 0.6}, ""),
        ({"quota": 0.5}, {"cpu": 0.9}, "0.90 CPUs for 2 s where 0.50 are allowed"),
        ({"cores": 0}, {"cpu": 0.5}, "0.50 CPUs for 2 s where 0.01 are allowed"),
        ({}, {"cpu": 9.0, "io": 9e9}, ""),
    ],
)
def test_a_limit_that_is_exceeded_for_two_seconds_does_not_bite(
    allowed: dict[str, Any], has: dict[str, float], word: str
) -> None:
    spec = configs.GroupSpec(role="best-effort", cgroup="/batch")
    one = Managed("batch", spec, (0,), TREE, allocation=Allocation(**allowed))
    bites = Bites()
    said = [bites.exceeded(one, look(t_s, batch_has=has)) for t_s in (10.0, 11.9, 12.0)]
    assert said[:2] == ["", ""]
    assert said[2] == word if not word else word in said[2]
    assert bites.exceeded(one, look(12.1, batch_has=dict.fromkeys(has, 0.0))) == ""
    assert bites.exceeded(one, look(12.2, batch_has=has)) == "", "it begins anew"


def test_a_disk_cannot_change_while_a_manager_runs() -> None:
    web = configs.GroupSpec(role="latency-critical", cgroup="/web", target="1ms")
    old, new = (
        configs.Config(
            controller="null",
            groups={
                "web": web,
                "batch": configs.GroupSpec(role="best-effort", cgroup="/batch", disk=disk),
            },
        )
        for disk in ("/var", "/srv")
    )
    reload.check(old, old)
    with pytest.raises(SpecFault, match="no other groups"):
        reload.check(old, new)


@needs_groups
@pytest.mark.parametrize("disk", ["relative/path", "~"])
def test_a_disk_is_an_absolute_path(disk: str, free: Stand) -> None:
    free.more = f'disk = "{disk}"'
    with pytest.raises(SpecFault, match="absolute path"):
        configs.read(free.config())


def _freezer(here: Stand) -> tuple[Path, str]:
    """The file that stops the batch group, and what lets it run."""
    if groups.find(TREE, "freezer"):
        return here.file("batch", "freezer.state", "freezer"), "THAWED"
    return here.file("batch", "cgroup.freeze"), "0"


def _is_stopped(here: Stand) -> bool:
    path, runs = _freezer(here)
    return path.read_text().strip() != runs


def _limits(here: Stand) -> list[str]:
    """What the kernel says of the disk's limits."""
    if groups.find(TREE, "blkio"):
        names, controller = [*io_limit.FILES.values()], "blkio"
    else:
        names, controller = [io_limit.MAX], "io"
    return [here.file("batch", name, controller).read_text() for name in names]
