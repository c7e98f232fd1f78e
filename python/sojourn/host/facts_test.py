from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn import host
from sojourn.host import cgroups
from sojourn.host.activity import cpu_ticks
from sojourn.host.tree import Tree

Host = Callable[[str], Path]


def test_topology_of_a_big_server(fake_host: Host) -> None:
    facts = host.read(fake_host("big_server"))
    cpus = facts.topology.cpus
    assert len(cpus) == 48
    assert {cpu.socket for cpu in cpus} == {cpu.node for cpu in cpus} == {0, 1}
    assert cpus[13].siblings == (13, 37)
    assert cpus[37].core == 13
    cache = facts.topology.shared_cache(3)
    assert cache is not None
    assert cache.size_bytes == 16896 * 1024
    assert len(cache.shared_by) == 24
    assert facts.topology.node_bytes == ((0, 49_000_000 * 1024), (1, 49_000_000 * 1024))


def test_container_limits_are_the_tightest_over_all_parents(fake_host: Host) -> None:
    root = fake_host("contained")
    group = root / "sys/fs/cgroup/user.slice"
    inner = group / "inner"
    inner.mkdir()
    (root / "proc/self/cgroup").write_text("0::/user.slice/inner\n")
    (inner / "cpu.max").write_text("max 100000\n")
    (inner / "memory.max").write_text("max\n")
    (group / "memory.stat").write_text(f"inactive_file {100 << 20}\nactive_file 0\n")
    got = cgroups.read(Tree(root))
    assert got.version == 2
    assert got.cpu_quota == 1.5
    assert got.memory_bytes == 2 << 30
    # 2 GiB less 512 MiB in use, of which 100 MiB are page cache that can be thrown out.
    assert got.memory_left_bytes == (2048 - 512 + 100) << 20
    assert host.read(root).memory.free_bytes == got.memory_left_bytes


def test_cgroup_version_1(tmp_path: Path) -> None:
    cpu, memory = tmp_path / "sys/fs/cgroup/cpu/a", tmp_path / "sys/fs/cgroup/memory/a"
    for folder in (cpu, memory, tmp_path / "proc/self"):
        folder.mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("3:cpu,cpuacct:/a\n2:memory:/a\n1:name=systemd:/\n")
    (cpu / "cpu.cfs_quota_us").write_text("-1\n")
    (cpu / "cpu.cfs_period_us").write_text("100000\n")
    (memory / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    got = cgroups.read(Tree(tmp_path))
    assert got.version == 1
    assert got.cpu_quota is None
    assert got.memory_bytes is None
    assert got.controllers == ("cpu", "cpuacct", "memory")


def test_steal_since_boot_counts_guest_time_once(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu  10 0 10 70 0 0 0 10 5 0\n")
    assert cpu_ticks(Tree(tmp_path)) == (10, 0, 10, 70, 0, 0, 0, 10)
    assert host.read(tmp_path).activity.steal_share_boot == 0.1


def test_a_machine_that_tells_nothing_is_read_without_complaint(tmp_path: Path) -> None:
    facts = host.read(tmp_path)
    assert len(facts.topology.cpus) == 1
    assert facts.memory.total_bytes == 0
    assert facts.activity.steal_share_boot is None
    host.doctor(facts)


@pytest.mark.parametrize("name", ["one_cpu", "four_smt", "big_server", "contained"])
def test_manifest_is_json_and_says_what_m25_asks(fake_host: Host, name: str) -> None:
    got = json.loads(json.dumps(host.manifest(host.read(fake_host(name)))))
    assert got["schema"] == "sojourn.manifest/1"
    assert got["kernel"]["cmdline"] == "root=/dev/sda1 quiet"
    assert set(got["power"]) >= {"driver", "governors", "turbo", "idle_states"}
    assert set(got["memory"]) >= {"huge_pages", "numa_balancing"}
    assert set(got) >= {"cgroup", "network", "tools", "commit", "rights", "activity", "topology"}


def test_this_machine_can_be_read() -> None:
    facts = host.read(sample_s=0.05)
    assert facts.topology.usable
    assert 0 < facts.memory.free_bytes <= facts.memory.total_bytes
    assert dict(facts.tools)["python"]
