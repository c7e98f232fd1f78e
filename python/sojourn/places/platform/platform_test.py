"""Storage node and switch with fakes; real ones are in tests/privileged.

Programs are shell scripts that note what they are asked.
"""

from __future__ import annotations

import json
import time
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.places import network, proc, process_end
from sojourn.places.network import Link
from sojourn.places.network_test import Book as Notes
from sojourn.places.platform import ceph, image, nbd, storage, switch
from sojourn.places.platform.daemons import Daemons

BRIDGE = Link(name="sojourn-abcdefb", mac="02:00:00:00:00:01")
NODE = Link(name="sojourn-abcdefs", mac="02:00:00:00:00:02")
INNER = Link(name="eth0", mac="02:00:00:00:00:03")
NAME = "sojourn-0123456789"
#: Parts of `qemu-img --help`: QEMU 7.2 of Debian with and without qemu-block-extra.
FORMATS = "Supported formats: blkdebug file nbd {}raw vpc"


class Book(Notes):
    """A book that takes processes too."""

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        del pid, start_ticks
        return self.note(f"process {what}")


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What was done to the network, in order; folders are the test's."""
    reports: list[str] = []

    def act(name: str, *_: object) -> None:
        reports.append(name)

    for name in ("make", "add_bridge", "add_pair", "join", "bring_up", "delete", "remove"):
        monkeypatch.setattr(network, name, partial(act, name))
    monkeypatch.setattr(network, "inside", lambda _, ask: ask())
    monkeypatch.setattr(network, "routed", lambda: (IPv4Network("10.0.0.0/8"),))
    (tmp_path / "var").mkdir()
    monkeypatch.setattr(storage, "ROOT", tmp_path / "var")
    return reports


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder for fakes of programs, which `fake` fills; others are not found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(programs, "places", lambda: (folder,))
    return folder


def fake(folder: Path, name: str, script: str = "") -> None:
    asked = folder.parent / "asked"
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "{name} $*" >> {asked}\n{script}\n')
    path.chmod(0o755)


def test_a_node_is_noted_step_by_step_and_nothing_of_it_is_left(
    done: list[str], tmp_path: Path
) -> None:
    book = Book(done)
    node = nbd.Nbd(NAME, NODE, "10.0.0.3", book)
    node.enter(switch.Bridge(BRIDGE), INNER)
    assert (tmp_path / "var" / NAME).stat().st_mode & 0o077 == 0
    assert done[:6] == [
        *("note storage", "note netns", "make", "note link", "add_pair"),
        "join",
    ]
    node.leave()
    assert not book.open
    assert list((tmp_path / "var").iterdir()) == []


def test_only_a_node_that_bears_the_labs_name_is_undone(done: list[str], tmp_path: Path) -> None:
    assert done == []
    for name in ("sojourn-0123", "somebody", NAME):
        (tmp_path / "var" / name).mkdir()
    (tmp_path / "var" / "sojourn-aaaaaaaaaa").symlink_to(tmp_path / "var" / "somebody")
    for name in ("somebody", "sojourn-0123", "../somebody", "sojourn-aaaaaaaaaa"):
        assert storage.undo({"name": name}) is None
    undone = storage.undo({"name": NAME})
    assert undone is not None
    assert undone.is_done
    assert storage.undo({"name": NAME}) is None
    assert (tmp_path / "var" / "somebody").is_dir()


def test_a_node_without_room_for_its_files_is_no_matter_of_rights(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "ROOT", tmp_path / "nowhere")
    node = nbd.Nbd(NAME, NODE, "10.0.0.3", Book(done))
    with pytest.raises(HostFault, match=r"storage node \(nbd\): a file cannot be made") as caught:
        node.enter(switch.Bridge(BRIDGE), INNER)
    assert caught.value.at == str(tmp_path / "nowhere" / NAME)
    with pytest.raises(HostFault, match="a file cannot be made") as caught:
        node.disk(tmp_path, None, ())
    assert caught.value.at == str(tmp_path / "nowhere" / NAME / "disk1.raw")
    node.leave()


def test_the_disk_has_room_for_twice_the_folder(tmp_path: Path, tools: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "data").write_bytes(bytes(5 << 20))
    fake(tools, image.MKFS)
    by = Daemons("node", tmp_path, Book([]))
    size = image.write(tmp_path / "disk", tmp_path / "work", None, by)
    assert size == (tmp_path / "disk").stat().st_size == 320 << 20
    asked = (tmp_path / "asked").read_text()
    assert f"-d {tmp_path / 'work'} {tmp_path / 'disk'}" in asked
    with pytest.raises(FileExistsError):  # no one has put a file in its way
        image.write(tmp_path / "disk", tmp_path / "work", None, by)


def test_a_tool_that_hangs_or_fails_is_named_with_its_words(tmp_path: Path, tools: Path) -> None:
    by = Daemons("storage node (ceph)", tmp_path, Book([]))
    fake(tools, "ceph", "sleep 60")
    with pytest.raises(HostFault, match="ceph took more than 0 s"):
        by.call([tools / "ceph"], 0.2)
    fake(tools, "rbd", "echo 'rbd: \x1b[31mno space' >&2; exit 28")
    with pytest.raises(HostFault) as caught:
        by.call([tools / "rbd"], 10.0)
    assert "rbd failed (exit 28)" in caught.value.what
    assert "no space" in caught.value.at
    assert "\x1b" not in caught.value.at


def test_a_daemon_that_ends_is_reported_with_its_last_words(tmp_path: Path, tools: Path) -> None:
    fake(tools, "ceph-mon", "echo 'mon: no such address'; exit 1")
    by = Daemons("storage node (ceph)", tmp_path, Book([]))
    by.start("mon", [tools / "ceph-mon"])
    with pytest.raises(HostFault) as caught:
        by.wait(lambda: False, 30.0)
    assert "mon" in caught.value.what
    assert "no such address" in caught.value.at
    by.stop()


def test_a_daemon_that_is_never_ready_is_waited_for_only_so_long_and_ended(
    tmp_path: Path, tools: Path
) -> None:
    fake(tools, "ceph-osd", "exec sleep 600")
    by = Daemons("storage node (ceph)", tmp_path, Book([]))
    by.start("osd", [tools / "ceph-osd"])
    pid = by._running[0][0].pid
    with pytest.raises(HostFault, match="was not ready within 0 s"):
        by.wait(lambda: False, 0.1)
    by.stop()
    assert not proc.session(pid)
    assert process_end.last_words(tmp_path / "osd.out") == ""


def test_ceph_is_refused_where_qemu_cannot_read_its_disks(
    done: list[str], tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tools, ceph.IMAGER)
    book = Book(done)
    node = ceph.Ceph(NAME, NODE, "10.0.0.3", book)
    monkeypatch.setattr(programs, "says", lambda *_: FORMATS.format(""))
    with pytest.raises(HostFault) as caught:
        node.enter(switch.Bridge(BRIDGE), INNER)
    assert caught.value.fix.startswith("apt install qemu-block-extra")
    node.leave()
    assert not book.open


def test_ceph_comes_up_in_order_and_its_disks_are_images(
    done: list[str], tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (ceph.IMAGER, "monmaptool", "rbd", image.MKFS):
        fake(tools, name)
    for name in ("ceph-mon", "ceph-osd"):
        fake(tools, name, 'case "$*" in *mkfs*) exit;; esac; exec sleep 600')
    fake(tools, "ceph", f"echo '{json.dumps({'num_osds': 1, 'num_up_osds': 1})}'")
    monkeypatch.setattr(programs, "says", lambda *_: FORMATS.format("rbd "))
    node = ceph.Ceph(NAME, NODE, "10.0.0.3", Book(done))
    monkeypatch.setattr(node._daemons, "netns", None)
    (tmp_path / "work").mkdir()
    try:
        node.enter(switch.Bridge(BRIDGE), INNER)
        disk = node.disk(tmp_path / "work", None, ())
        until_s = time.monotonic() + 60.0  # a daemon says in its own time that it began
        while (tmp_path / "asked").read_text().count(" -f\n") < 2 and time.monotonic() < until_s:
            time.sleep(0.02)
    finally:
        node.leave()
    conf = tmp_path / "var" / NAME / "ceph.conf"
    assert disk.words == f"driver=rbd,pool=sojourn,image=disk1,conf={conf}"
    asked = (tmp_path / "asked").read_text().splitlines()
    calls = [line.split()[0] for line in asked if not line.endswith(" -f")]
    assert calls[:5] == ["monmaptool", "ceph-mon", "ceph", "ceph-osd", "ceph"]
    assert sorted(line.split()[0] for line in asked if line.endswith(" -f")) == [
        "ceph-mon",
        "ceph-osd",
    ]
    assert [line for line in asked if line.startswith("rbd ") and " import " in line]
    assert not conf.exists()


def test_a_clusters_files_all_lie_in_the_nodes_folder() -> None:
    text = ceph.conf(Path("/srv/x"), "10.0.0.3", "f")
    paths = [line.partition("= ")[2] for line in text.splitlines() if "= /" in line]
    assert len(paths) >= 7
    assert all(path.startswith("/srv/x") for path in paths)
    assert "[v2:10.0.0.3:3300/0]" in text


def test_open_vswitch_is_refused_where_its_datapath_is_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switch, "is_there", lambda name: name == switch.DATAPATH)
    one = switch.build({"ovs"}, BRIDGE, tmp_path, Book([]))
    with pytest.raises(HostFault, match="in use already"):
        one.add()
    assert list(tmp_path.iterdir()) == []


def test_open_vswitch_has_offloads_on_before_its_daemon_starts(
    done: list[str], tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[str] = []
    monkeypatch.setattr(switch, "is_there", lambda _: False)
    monkeypatch.setattr(switch, "remove_datapath", lambda: deleted.append(switch.DATAPATH))
    monkeypatch.setattr(network, "is_there", lambda _: True)
    for name in (switch.TOOL, switch.CALL):
        fake(tools, name)
    fake(tools, switch.SERVER, f"touch {tmp_path}/ovs/db.sock; exec sleep 600")
    fake(tools, switch.SWITCH, "exec sleep 600")
    book = Book(done)
    one = switch.build({"ovs"}, BRIDGE, tmp_path, book)
    one.add()
    one.join(NODE)
    one.remove()
    asked = (tmp_path / "asked").read_text()
    assert asked.index("userspace-tso-enable=true") < asked.index("add-br")
    assert f'hwaddr="{BRIDGE.mac}"' in asked
    assert f"add-port {BRIDGE.name} {NODE.name}" in asked
    assert deleted == [switch.DATAPATH]
    assert not book.open


def test_dpdk_is_refused_with_what_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "MEMORY", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemTotal: 1 kB\nHugePages_Total:       0\n")
    monkeypatch.setattr(programs, "maybe", lambda _: None)
    fault = switch.refuse_dpdk()
    assert "hugepages are not reserved" in fault.what
    assert "without DPDK" in fault.what
    (tmp_path / "meminfo").write_text("HugePages_Total:      64\n")
    assert "hugepages" not in switch.refuse_dpdk().what
