"""Totals of a group are those of its files; a garbled line is unknown, never 0.

Trees are fakes: this machine's groups have neither io.stat nor resctrl.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from sojourn.host.tree import Tree
from sojourn.manage import accounts, monitors
from sojourn.manage.signals_test import written

AT = "/sys/fs/cgroup/web"
SOME = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 total=9\n"
DEV = "Inter-|   Receive\n face |bytes\n"
MON = "sys/fs/resctrl"


def link(name: str, received: object, sent: object) -> str:
    return f"  {name}: {received} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0\n"


@pytest.mark.parametrize(
    ("text", "total_s"),
    [(SOME.format(2_500_000), 2.5), (SOME.format(0), 0.0), ("full total=7\n", None), ("", None)]
    + [(SOME.format(bad), None) for bad in ("", "-1", "x", "1e3", "9" * 40, "\0")],
)
def test_pressure_is_the_total_of_some(tmp_path: Path, text: str, total_s: float | None) -> None:
    tree = written(tmp_path, {f"{AT[1:]}/io.pressure": text})
    assert accounts.pressure_s(tree, AT, "io") == total_s
    assert accounts.pressure_s(tree, AT, "memory") is None, "it has no such file"


def disks(root: Path, stat: str, disk: str = "") -> int | None:
    return accounts.disk_bytes(written(root, {f"{AT[1:]}/io.stat": stat}), AT, 2, disk)


def test_bytes_of_all_disks_add_up_and_those_of_a_disk_above_others_count_once(
    tmp_path: Path,
) -> None:
    stat = "8:0 rbytes=100 wbytes=20 rios=1\n253:0 rbytes=90 wbytes=9\n8:16 rbytes=3 wbytes=4\n"
    (tmp_path / "sys/dev/block/253:0/slaves/sda").mkdir(parents=True)
    (tmp_path / "sys/dev/block/8:0/slaves").mkdir(parents=True)
    assert disks(tmp_path, stat) == 127
    assert disks(tmp_path, stat, "8:16") == 7
    assert disks(tmp_path, stat, "253:0") == 99, "it was named"
    assert disks(tmp_path, "") == 0, "it has used no disk"
    assert disks(tmp_path, "8:0\n8:16 rbytes=3 wbytes=4\n") == 7, "8:0 has no count yet"


@pytest.mark.parametrize(
    "bad",
    ["8:0 rbytes=x wbytes=1", "8:0 rbytes=-5 wbytes=1", "8:0 wbytes=1", "8:0 8:16 r=1", "? ?"],
)
def test_a_garbled_account_of_disks_is_unknown(tmp_path: Path, bad: str) -> None:
    assert disks(tmp_path, f"8:16 rbytes=3 wbytes=4\n{bad}\n") is None


def test_version_1_counts_reads_and_writes(tmp_path: Path) -> None:
    name = f"{AT[1:]}/blkio.throttle.io_service_bytes"
    text = "8:0 Read 100\n8:0 Write 20\n8:0 Sync 120\n8:0 Total 120\n8:16 Read 1\nTotal 121\n"
    tree = written(tmp_path, {name: text})
    assert accounts.disk_bytes(tree, AT, 1, "") == 121
    assert accounts.disk_bytes(tree, AT, 1, "8:16") == 1
    written(tmp_path, {f"{name}_recursive": "8:0 Read 500\nTotal 500\n"})
    assert accounts.disk_bytes(tree, AT, 1, "") == 500, "groups below count"
    written(tmp_path, {f"{name}_recursive": "8:0 Read x\n"})
    assert accounts.disk_bytes(tree, AT, 1, "") is None
    assert accounts.disk_bytes(tree, "/nowhere", 1, "") is None


def test_bytes_of_all_links_but_loopback_add_up(tmp_path: Path) -> None:
    text = DEV + link("lo", 1000, 1000) + link("eth0", 70, 7) + link("eth1", 3, 0)
    assert accounts.network_bytes(written(tmp_path, {"proc/7/net/dev": text}), 7) == 80
    only = written(tmp_path, {"proc/7/net/dev": DEV + link("lo", 5, 5)})
    assert accounts.network_bytes(only, 7) is None
    assert accounts.network_bytes(only, 8) is None


def test_bytes_of_this_machines_links_are_those_that_they_count_themselves() -> None:
    def counted() -> int:
        every = Path("/sys/class/net").glob("*/statistics/[rt]x_bytes")
        return sum(int(one.read_text()) for one in every if one.parts[4] != "lo")

    if {name for _, name in socket.if_nameindex()} != {
        one.name for one in Path("/sys/class/net").iterdir()
    }:
        pytest.skip("/sys shows the links of another network namespace")
    least, own, most = counted(), accounts.network_bytes(Tree(), os.getpid()), counted()
    assert least <= (own or 0) <= most


@pytest.mark.parametrize("bad", [link("eth1", "x", 1), link("eth1", 1, -1), "eth1: 1 2\n", "x\n"])
def test_a_garbled_link_is_unknown(tmp_path: Path, bad: str) -> None:
    tree = written(tmp_path, {"proc/7/net/dev": DEV + link("eth0", 70, 7) + bad})
    assert accounts.network_bytes(tree, 7) is None


def resctrl(root: Path, at: str, tasks: str, *domains: str) -> Tree:
    files = {f"{at}/tasks": tasks, f"{MON}/mon_data/mon_L3_00/llc_occupancy": "1"}
    for nth, count in enumerate(domains):
        files[f"{at}/mon_data/mon_L3_{nth:02}/llc_occupancy"] = count
    threads = {f"proc/{pid}/task/{tid}/comm": "x" for pid, tid in ((7, 7), (7, 8), (9, 9))}
    return written(root, {**files, **threads})


@pytest.mark.parametrize("at", [f"{MON}/mon_groups/web", f"{MON}/ways", f"{MON}/ways/mon_groups/b"])
def test_the_monitoring_group_of_exactly_its_tasks_counts(tmp_path: Path, at: str) -> None:
    tree = resctrl(tmp_path, at, "7\n8\n", "4096", "100")
    assert monitors.find(tree, (7,)) == (f"/{at}", "")
    assert monitors.total(tree, f"/{at}", monitors.OCCUPANCY) == 4196
    assert monitors.total(tree, f"/{at}", monitors.MOVED) is None, "it is not counted here"
    resctrl(tmp_path, at, "7\n", "4096")
    assert monitors.find(tree, (7,)) == (f"/{at}", ""), "a thread may have just begun"


@pytest.mark.parametrize("tasks", ["7\n8\n9\n", "8\n", "", "7\nx\n", "7 -8"])
def test_a_monitoring_group_of_others_too_or_of_a_part_does_not(tmp_path: Path, tasks: str) -> None:
    tree = resctrl(tmp_path, f"{MON}/mon_groups/web", tasks, "4096")
    assert monitors.find(tree, (7,)) == ("", monitors.NO_FOLDER)
    assert monitors.find(tree, ()) == ("", monitors.NO_FOLDER)
    assert monitors.find(Tree(tmp_path / "proc"), (7,)) == ("", monitors.NO_MOUNT)


@pytest.mark.parametrize("bad", ["Unavailable", "Error", "Unassigned", "", "-1"])
def test_a_domain_that_does_not_count_makes_the_sum_unknown(tmp_path: Path, bad: str) -> None:
    at = f"{MON}/mon_groups/web"
    tree = resctrl(tmp_path, at, "7\n", "4096", bad)
    assert monitors.total(tree, f"/{at}", monitors.OCCUPANCY) is None
