"""What a service can use at most: links, groups, disks and its ways of the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn.host import usage
from sojourn.host.kernel_testing import LEADER, Kernel, Watch
from sojourn.host.tree import Tree


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def test_cache_and_memory_bandwidth_are_those_of_its_resource_group(kernel: Kernel) -> None:
    group = "/sys/fs/resctrl/sojourn-1"
    kernel.put("/sys/fs/resctrl/schemata", "L3:0=ff\n")
    kernel.put("/sys/fs/resctrl/tasks", "1\n")
    watch = Watch(kernel)
    why = usage.places(watch.tree, LEADER, (1,)).missing["llc_bytes"]
    assert why.startswith("it has no resctrl group of its own")
    kernel.put(f"{group}/tasks", f"{LEADER}\n")
    for domain, moved in ((0, 1000), (1, 500)):
        kernel.put(f"{group}/mon_data/mon_L3_0{domain}/llc_occupancy", "4096\n")
        kernel.put(f"{group}/mon_data/mon_L3_0{domain}/mbm_total_bytes", f"{moved}\n")
    watch.look()
    kernel.put(f"{group}/mon_data/mon_L3_00/mbm_total_bytes", "5000\n")
    values = watch.after(2.0).values
    assert values["llc_bytes"] == 8192
    assert values["memory_bytes_per_s"] == pytest.approx(2000)
    kernel.put(f"{group}/mon_data/mon_L3_00/mbm_total_bytes", "40\n")
    rates = watch.after(1.0)
    assert rates.values["memory_bytes_per_s"] is None
    assert "memory bandwidth: a counter went back" in rates.events
    kernel.put(f"{group}/mon_data/mon_L3_00/mbm_total_bytes", "Unavailable\n")
    assert watch.after(1.0).values["memory_bytes_per_s"] is None


def test_a_namespace_of_its_own_is_counted_without_its_loopback(kernel: Kernel) -> None:
    for who, name in (("self", "net:[1]"), (str(LEADER), "net:[2]")):
        link = kernel.root / f"proc/{who}/ns/net"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(name)
    assert usage.places(Tree(kernel.root), LEADER, (1,)).interfaces == ("eth0",)


def test_limits_are_the_tightest_of_all_groups_above(kernel: Kernel) -> None:
    tree = Tree(kernel.root)
    where = usage.places(tree, LEADER, (0, 1))
    assert usage.limits(tree, where)["service_cpu_share"] == 1.0
    assert usage.limits(tree, where)["resident_bytes"] == 1000 * 1024
    kernel.put(f"/proc/{LEADER}/cgroup", "0::/a/b\n")
    kernel.put("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
    kernel.put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n")
    kernel.put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
    kernel.put("/sys/fs/cgroup/a/b/memory.max", "4096\n")
    limits = usage.limits(tree, where)
    assert limits["service_cpu_share"] == 0.25  # half a CPU of two
    assert limits["thread_cpu_share_max"] == 0.5
    assert limits["resident_bytes"] == 4096


def test_disks_can_give_as_much_as_the_tightest_limit(kernel: Kernel) -> None:
    tree = Tree(kernel.root)
    where = usage.places(tree, LEADER, (1,))
    assert not {name for name in usage.limits(tree, where) if name.startswith("disk")}
    kernel.put(f"/proc/{LEADER}/cgroup", "0::/a/b\n")
    kernel.put("/sys/fs/cgroup/cgroup.controllers", "io\n")
    kernel.put("/sys/fs/cgroup/a/io.max", "8:0 rbps=9000 wbps=100 riops=5 wiops=max\n")
    kernel.put("/sys/fs/cgroup/a/b/io.max", "8:0 rbps=max wbps=70 riops=max wiops=max\n")
    limits = usage.limits(tree, where)
    assert limits["disk_read_bytes_per_s"] == 9000
    assert limits["disk_write_bytes_per_s"] == 70
    guest = usage.limits(tree, usage.places(tree, LEADER, (0, 1), GUEST))
    assert not {name for name in guest if name.startswith("disk")}, "they are of QEMU's own files"


def test_in_version_1_a_disk_has_a_limit_of_reading_alone(kernel: Kernel) -> None:
    kernel.put(f"/proc/{LEADER}/cgroup", "5:blkio:/a\n")
    kernel.put("/sys/fs/cgroup/blkio/a/blkio.throttle.read_bps_device", "8:0 9000\n")
    kernel.put("/sys/fs/cgroup/blkio/a/blkio.throttle.write_bps_device", "8:0 80\n")
    tree = Tree(kernel.root)
    limits = usage.limits(tree, usage.places(tree, LEADER, (1,)))
    assert limits["disk_read_bytes_per_s"] == 9000
    assert "disk_write_bytes_per_s" not in limits


@pytest.mark.parametrize(("lines", "share"), [("L3:0=3;1=1", 0.5), ("MB:0=10", 1.0)])
def test_under_a_mask_it_can_hold_its_ways_of_the_cache(
    kernel: Kernel, lines: str, share: float
) -> None:
    group = "/sys/fs/resctrl/own"
    kernel.put("/sys/fs/resctrl/schemata", "L3:0=f;1=f\n")
    kernel.put("/sys/fs/resctrl/info/L3/cbm_mask", "f\n")
    kernel.put(f"{group}/tasks", f"{LEADER}\n")
    kernel.put(f"{group}/schemata", f"    {lines}\n")
    kernel.put(f"{group}/mon_data/mon_L3_00/llc_occupancy", "5\n")
    tree = Tree(kernel.root)
    limits = usage.limits(tree, usage.places(tree, LEADER, (1,)), llc_bytes=4096)
    assert limits["llc_bytes"] == share * 4096


GUEST = usage.Outside(tap="sojourn-t", storage="sojourn-s")


def links(tap: tuple[int, int, int, int], node: tuple[int, int, int, int]) -> str:
    """The links of a machine: loopback, a guest's tap, the link of its storage node."""
    lines = [
        f"{name}: {one[0]} {one[1]} 0 0 0 0 0 0 {one[2]} {one[3]} 0 0 0 0 0 0"
        for name, one in (("lo", (9, 9, 9, 9)), ("sojourn-t", tap), ("sojourn-s", node))
    ]
    return "\n".join(["Inter-|", " face |", *lines, ""])


def test_a_guest_is_counted_at_its_tap_the_other_way_round_and_at_its_storage_node(
    kernel: Kernel,
) -> None:
    kernel.put(f"/proc/{LEADER}/net/dev", links((100, 1, 200, 2), (0, 0, 0, 0)))
    watch = Watch(kernel, GUEST)
    kernel.put(f"/proc/{LEADER}/net/dev", links((1100, 11, 5200, 22), (8000, 9, 600, 9)))
    kernel.process(LEADER, pages=12, io=(10**6, 10**6))  # QEMU's own files are not the guest's
    values = watch.after(2.0).values
    assert values["network_rx_bytes_per_s"] == pytest.approx(2500)
    assert values["network_rx_packets_per_s"] == pytest.approx(10)
    assert values["network_tx_bytes_per_s"] == pytest.approx(500)
    assert values["network_tx_packets_per_s"] == pytest.approx(5)
    assert values["disk_read_bytes_per_s"] == pytest.approx(4000)
    assert values["disk_write_bytes_per_s"] == pytest.approx(300)
    kernel.put(f"/proc/{LEADER}/net/dev", "Inter-|\n face |\n")
    rates = watch.after(1.0)
    assert rates.values["disk_read_bytes_per_s"] is None
    assert {"network: its source has gone", "storage: its source has gone"} <= {*rates.events}


def test_a_guest_without_a_disk_or_a_tap_says_why_and_reports_no_other_bytes(
    kernel: Kernel,
) -> None:
    kernel.put(f"/proc/{LEADER}/net/dev", links((0, 0, 0, 0), (0, 0, 0, 0)))
    bare = usage.Outside(tap="sojourn-t")
    where = usage.places(Tree(kernel.root), LEADER, (1,), bare)
    assert where.interfaces == ("sojourn-t",)
    assert "in the guest's memory" in where.missing["disk_write_bytes_per_s"]
    assert "network_rx_bytes_per_s" not in where.missing
    assert "llc_bytes" in where.missing
    watch = Watch(kernel, bare)
    kernel.process(LEADER, io=(10**6, 10**6))
    assert watch.after(1.0).values["disk_write_bytes_per_s"] is None
    gone = usage.places(Tree(kernel.root), LEADER, (1,), usage.Outside(tap="a", storage="b"))
    assert "its tap a is not there" in gone.missing["network_rx_bytes_per_s"]
    assert "link b is not there" in gone.missing["disk_read_bytes_per_s"]
