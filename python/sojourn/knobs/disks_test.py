"""Which disk a path is on: behind partitions and btrfs; and where there is none to limit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.host.tree import Tree
from sojourn.knobs import Asked, Turned, disks, io_limit
from sojourn.knobs.testing import FakeV2, MemoryBook, put

BTRFS = "/sys/fs/btrfs"  # numbers below are of no disk that this machine has


def disk(root: Path, name: str, number: str, *, part: str = "") -> None:
    """A disk of a made-up machine, and a first partition of it."""
    put(root, f"/sys/block/{name}/dev", number)
    links = root / "sys/dev/block"
    links.mkdir(parents=True, exist_ok=True)
    (links / number).symlink_to(root / f"sys/block/{name}")
    if part:
        put(root, f"/sys/block/{name}/{name}1/dev", part)
        put(root, f"/sys/block/{name}/{name}1/partition", "1")
        (links / part).symlink_to(root / f"sys/block/{name}/{name}1")


def of_btrfs(root: Path, uuid: str, *devices: str) -> None:
    """Devices of a btrfs, as the kernel lists them: links to what is below /sys/block."""
    folder = root / f"{BTRFS[1:]}/{uuid}/devices"
    folder.mkdir(parents=True)
    for device in devices:
        (folder / Path(device).name).symlink_to(root / f"sys/block/{device}")


def mounted(root: Path, work: Path, kind: str, source: str) -> Tree:
    """The machine, with a working folder on a file system of that kind."""
    work.mkdir(exist_ok=True)
    file = root / "proc/self/mountinfo"
    known = file.read_text() if file.exists() else ""
    line = f"40 1 0:40 / {work.resolve()} rw - {kind} {source} rw"
    put(root, "/proc/self/mountinfo", f"{known}{line}")
    return Tree(root)


def test_a_disk_is_found_behind_its_partition(tmp_path: Path) -> None:
    disk(tmp_path, "vda", "99:0", part="99:1")
    tree = Tree(tmp_path)
    assert disks.disk_of(tree, 99 << 8 | 1) == "99:0"
    assert disks.disk_of(tree, 99 << 8) == "99:0"
    assert disks.disk_of(tree, 7 << 8) == ""


@pytest.mark.parametrize(
    ("devices", "source", "wanted"),
    [
        ({"one": ("vda/vda1",)}, "/dev/vda1", ("99:0", "")),
        ({"one": ("vdb",)}, "/dev/vdb", ("99:16", "")),
        ({"one": ("vda/vda1",)}, "/dev/root", ("99:0", "")),
        ({"one": ("vda/vda1",), "two": ("vdb",)}, "/dev/vdb", ("99:16", "")),
        ({"one": ("vda/vda1",), "two": ("vdb",)}, "/dev/disk/by-label/b", ("99:16", "")),
        ({"one": ("vda/vda1",), "two": ("vdb",)}, "/dev/root", ("", "btrfs names none")),
        ({"one": ("vda", "vda/vda1")}, "/dev/vda1", ("99:0", "")),
        (
            {"one": ("vda/vda1", "vdb")},
            "/dev/vda1",
            ("", "btrfs has 2 disks here, and a limit is of one"),
        ),
        ({"one": ("gone",)}, "/dev/gone", ("", "btrfs names none")),
        ({}, "/dev/vda1", ("", "btrfs names none")),
    ],
)
def test_btrfs_is_on_the_one_disk_that_the_kernel_lists(
    devices: Mapping[str, tuple[str, ...]], source: str, wanted: tuple[str, str], tmp_path: Path
) -> None:
    root, work = tmp_path / "machine", tmp_path / "work"
    disk(root, "vda", "99:0", part="99:1")
    disk(root, "vdb", "99:16")
    put(root, f"{BTRFS}/features/zoned", "1")
    labels = root / "dev/disk/by-label"
    labels.mkdir(parents=True)
    (labels / "b").symlink_to(root / "dev/vdb")
    for uuid, names in devices.items():
        of_btrfs(root, uuid, *names)
    tree = mounted(root, work, "btrfs", source)
    assert disks.disk_below(tree, work) == wanted
    (work / "file").touch()
    assert disks.disk_below(tree, work / "file") == wanted


@pytest.mark.parametrize("kind", ["overlay", "zfs", "tmpfs"])
def test_a_file_system_that_names_no_disk_is_named(kind: str, tmp_path: Path) -> None:
    root, work = tmp_path / "machine", tmp_path / "work"
    disk(root, "vda", "99:0", part="99:1")
    of_btrfs(root, "one", "vda/vda1")
    tree = mounted(root, work, kind, "x")
    assert disks.disk_below(tree, work) == ("", f"{kind} names none")
    assert disks.disk_below(Tree(tmp_path / "bare"), work) == ("", "its file system names none")


@pytest.mark.parametrize(
    ("kind", "why"),
    [("tmpfs", "tmpfs is memory"), ("btrfs", "btrfs names none"), ("ext4", "")],
)
def test_a_working_folder_on_no_disk_is_a_lack(kind: str, why: str, tmp_path: Path) -> None:
    kernel, work = FakeV2(tmp_path / "machine", [os.getpid()]), tmp_path / "work"
    mounted(kernel.root, work, kind, "x")
    device = work.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    put(kernel.root, f"/sys/dev/block/{number if kind == 'ext4' else '9:9'}/dev", number)
    lack = io_limit.lacks(Asked(level="10MB/s", tree=kernel.tree, work=work))
    assert (lack is not None) is bool(why)
    assert lack is None or (why in lack.missing and "TMPDIR=/var/tmp" in lack.fix)
    assert io_limit.lacks(Asked(level="none", tree=kernel.tree, work=work)) is None
    not_built = Asked(level="10MB/s", tree=kernel.tree)
    assert io_limit.lacks(not_built) is None, "where it works is not known yet"


def test_btrfs_on_one_disk_is_limited_there(tmp_path: Path) -> None:
    kernel, work = FakeV2(tmp_path / "machine", [os.getpid()]), tmp_path / "work"
    disk(kernel.root, "vda", "99:0", part="99:1")
    of_btrfs(kernel.root, "one", "vda/vda1")
    tree = mounted(kernel.root, work, "btrfs", "/dev/vda1")
    assert io_limit.lacks(Asked(level="10MB/s", tree=tree, work=work)) is None
    group: Any = SimpleNamespace(version=2)
    knob = io_limit.IoLimit(Turned(label="a", leader=1, book=MemoryBook(), tree=tree, work=work))
    assert knob.refused({"read": 1}, group) == ""
    assert knob.files({"read": 1}, group) == (("io.max", "99:0 rbps=1 wbps=max"),)
    of_btrfs(kernel.root, "two", "vda/vda1")
    mounted(kernel.root, work, "btrfs", "/dev/root")
    assert "(btrfs names none)" in knob.refused({"read": 1}, group)
