"""The control group of a program, and what it limits (version 1, 2 and both together)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from sojourn.disk import tables
from sojourn.host.tree import Tree, as_int, cpu_list

BASE = "/sys/fs/cgroup"
Number = TypeVar("Number", int, float)
NO_LIMIT_BYTES = 1 << 60  # version 1 writes "none" as a number near 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroup:
    """Limits are the tightest over all parents; None: no limit.

    Attributes:
        version: 2; 1; or 0 if there is none.
        path: the group, below the mount.
        controllers: that can be used.
        cpu_quota: CPUs by bandwidth (cpu.max), such as 1.5.
        memory_left_bytes: limit minus what is used and cannot be reclaimed.
    """

    version: int
    path: str
    controllers: tuple[str, ...]
    cpu_quota: float | None
    cpuset: tuple[int, ...]
    memory_bytes: int | None
    memory_left_bytes: int | None


def read(tree: Tree, pid: int | None = None) -> Cgroup:
    """Read the group of a process; None: of this program."""
    groups = _groups(tree, pid)
    if tree.exists(f"{BASE}/cgroup.controllers"):
        return _version_2(tree, groups.get("", "/"))
    if tree.names(BASE):
        return _version_1(tree, groups)
    return Cgroup(
        version=0,
        path="",
        controllers=(),
        cpu_quota=None,
        cpuset=(),
        memory_bytes=None,
        memory_left_bytes=None,
    )


def folders(tree: Tree, controller: str, pid: int) -> list[str]:
    """Folders of a process's group and of all above it, where they are usually mounted."""
    groups = _groups(tree, pid)
    if tree.exists(f"{BASE}/cgroup.controllers"):
        return [f"{BASE}{part}" for part in _and_parents(groups.get("", "/"))]
    if controller not in groups:
        return []
    return [f"{BASE}/{controller}{part}" for part in _and_parents(groups[controller])]


def _groups(tree: Tree, pid: int | None) -> dict[str, str]:
    """Controller to group; version 2 has no controller's name."""
    groups = {}
    for line in tables.lines(tree.text(f"/proc/{pid or 'self'}/cgroup") or ""):
        _, names, path = [*line.split(":", 2), "", ""][:3]
        if path:
            groups.update(dict.fromkeys(names.split(","), path))
    return groups


def _and_parents(path: str) -> list[str]:
    """`/a/b` to `["/a/b", "/a", ""]`."""
    parts = [part for part in path.split("/") if part and part != ".."]
    return ["".join(f"/{part}" for part in parts[:n]) for n in range(len(parts), -1, -1)]


def _version_2(tree: Tree, path: str) -> Cgroup:
    bases = [f"{BASE}{part}" for part in _and_parents(path)]
    quotas = [_ratio(tree.text(f"{base}/cpu.max")) for base in bases]
    limits = [_limit(tree, base, "memory.max", "memory.current") for base in bases]
    own = bases[0]
    return Cgroup(
        version=2,
        path=path,
        controllers=tuple((tree.text(f"{own}/cgroup.controllers") or "").split())
        or tuple((tree.text(f"{BASE}/cgroup.controllers") or "").split()),
        cpu_quota=_least(quotas),
        cpuset=cpu_list(tree.text(f"{own}/cpuset.cpus.effective")),
        memory_bytes=_least([limit for limit, _ in limits]),
        memory_left_bytes=_least([left for _, left in limits]),
    )


def _version_1(tree: Tree, groups: dict[str, str]) -> Cgroup:
    cpu = [f"{BASE}/cpu{part}" for part in _and_parents(groups.get("cpu", "/"))]
    memory = [f"{BASE}/memory{part}" for part in _and_parents(groups.get("memory", "/"))]
    quotas = [
        _quota(tree.number(f"{b}/cpu.cfs_quota_us"), tree.number(f"{b}/cpu.cfs_period_us"))
        for b in cpu
    ]
    limits = [_limit(tree, b, "memory.limit_in_bytes", "memory.usage_in_bytes") for b in memory]
    cpuset = f"{BASE}/cpuset{groups.get('cpuset', '/')}"
    return Cgroup(
        version=1,
        path=groups.get("memory", "/"),
        controllers=tuple(sorted(name for name in groups if name and "=" not in name)),
        cpu_quota=_least(quotas),
        cpuset=cpu_list(tree.text(f"{cpuset}/cpuset.effective_cpus")),
        memory_bytes=_least([limit for limit, _ in limits]),
        memory_left_bytes=_least([left for _, left in limits]),
    )


def _limit(tree: Tree, base: str, limit: str, used: str) -> tuple[int | None, int | None]:
    """Limit and what is left of it; files in the page cache can be thrown out, so they count."""
    most = as_int(tree.text(f"{base}/{limit}"))
    if most is None or most >= NO_LIMIT_BYTES:
        return None, None
    lines = (line.split() for line in tables.lines(tree.text(f"{base}/memory.stat") or ""))
    stat = {words[0]: as_int(words[1]) or 0 for words in lines if len(words) == 2}
    cached = stat.get("inactive_file", 0) + stat.get("active_file", 0)
    return most, max(0, most - (tree.number(f"{base}/{used}") or 0) + cached)


def _ratio(text: str | None) -> float | None:
    """Read cpu.max: `150000 100000`, or `max 100000`."""
    quota, _, period = (text or "").partition(" ")
    return _quota(as_int(quota), as_int(period))


def _quota(quota: int | None, period: int | None) -> float | None:
    return quota / period if quota and period and quota > 0 else None


def _least(values: list[Number | None]) -> Number | None:
    known = [value for value in values if value is not None]
    return min(known) if known else None
