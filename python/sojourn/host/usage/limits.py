"""Where the counters of a service are, and how much of each resource it can take here."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.host import cgroups
from sojourn.host.tree import Tree, as_int
from sojourn.host.usage.moment import THREADS_MAX, Places, interfaces
from sojourn.host.usage.outside import Outside
from sojourn.host.usage.rates import DISK, NETWORK

RESCTRL = "/sys/fs/resctrl"
LOOPBACK = "lo"
THREADS = (
    "thread_cpu_share_max",
    "runq_delay_share",
    "switches_voluntary_per_s",
    "switches_involuntary_per_s",
)


def places(tree: Tree, leader: int, cpus: Sequence[int], outside: Outside | None = None) -> Places:
    """Where the counters of a running service are, and why some are not there.

    Args:
        tree: of the machine.
        leader: its first process.
        cpus: of the service.
        outside: links of a guest, where the first process is its QEMU; None: it is no guest.
    """
    missing: dict[str, str] = {}
    every = tuple(interfaces(tree, leader))
    if not every:
        missing |= dict.fromkeys(NETWORK, f"/proc/{leader}/net/dev cannot be read")
    group = _group(tree, leader)
    if not group:
        why = "no resctrl here" if not tree.exists(f"{RESCTRL}/schemata") else _NO_GROUP
        missing |= dict.fromkeys(("llc_bytes", "memory_bytes_per_s"), why)
    elif not _counts(tree, group, "llc_occupancy"):
        missing["llc_bytes"] = "this CPU does not count it"
    if group and not _counts(tree, group, "mbm_total_bytes"):
        missing["memory_bytes_per_s"] = "this CPU does not count it"
    if outside is not None:
        missing |= _missing_outside(outside, every)
    elif "read_bytes" not in tree.table(f"/proc/{leader}/io"):
        why = "its /proc/PID/io cannot be read: run as root that has CAP_SYS_PTRACE"
        missing |= dict.fromkeys(DISK, why)
    tids = tree.names(f"/proc/{leader}/task")
    if len(tids) > THREADS_MAX:
        missing |= dict.fromkeys(THREADS, f"it has {len(tids)} threads, {THREADS_MAX} are read")
    elif not tree.exists(f"/proc/{leader}/task/{leader}/schedstat"):
        missing |= dict.fromkeys(THREADS, "this kernel has no schedstat")
    return Places(
        leader=leader,
        cpus=tuple(cpus),
        interfaces=(outside.tap,) if outside else _own(tree, leader, every),
        resctrl=group,
        outside=outside,
        missing=missing,
    )


_NO_GROUP = (
    "it has no resctrl group of its own; a level of llc_ways or memory_bandwidth gives it one"
)


def _missing_outside(outside: Outside, links: Sequence[str]) -> dict[str, str]:
    """Why network or disk of a guest is not counted."""
    results: dict[str, str] = {}
    if outside.tap not in links:
        results |= dict.fromkeys(NETWORK, f"its tap {outside.tap} is not there")
    if not outside.storage:
        why = "its files are in the guest's memory: a place with nbd or ceph has a disk"
        results |= dict.fromkeys(DISK, why)
    elif outside.storage not in links:
        results |= dict.fromkeys(DISK, f"its storage node's link {outside.storage} is not there")
    return results


def has_own_network(tree: Tree, pid: int) -> bool:
    """Whether a process is in another network namespace than the caller."""
    own, its = (_link(tree, f"/proc/{who}/ns/net") for who in ("self", pid))
    return bool(own and its and own != its)


def _link(tree: Tree, path: str) -> str:
    try:
        return str(tree.path(path).readlink())
    except OSError:
        return ""


def _own(tree: Tree, pid: int, every: Sequence[str]) -> tuple[str, ...]:
    """The interfaces by which a service is reached: its namespace's, or the machine's loopback."""
    if not has_own_network(tree, pid):
        return tuple(name for name in every if name == LOOPBACK)
    return tuple(name for name in every if name != LOOPBACK) or tuple(every)


def _group(tree: Tree, pid: int) -> str:
    """The resource group of a process, or the monitoring group within; "" for the default one."""
    tops = [f"{RESCTRL}/{name}" for name in tree.names(RESCTRL)]
    within = [
        f"{at}/mon_groups/{name}"
        for at in (RESCTRL, *tops)
        for name in tree.names(f"{at}/mon_groups")
    ]
    named = (g for g in (*within, *tops) if str(pid) in (tree.text(f"{g}/tasks") or "").split())
    return next(named, "")


def _counts(tree: Tree, group: str, what: str) -> bool:
    base = f"{group}/mon_data"
    return any(tree.exists(f"{base}/{domain}/{what}") for domain in tree.names(base))


def read(tree: Tree, where: Places, *, llc_bytes: int | None = None) -> dict[str, float]:
    """How much of each resource the service can take here, in its unit; unknown ones are left out.

    Args:
        tree: of the machine.
        where: its counters are.
        llc_bytes: size of the last-level cache, of all that its CPUs share.
    """
    group = cgroups.read(tree, where.leader)
    cpus = group.cpu_quota
    results: dict[str, float] = {
        "service_cpu_share": min(1.0, cpus / len(where.cpus)) if cpus and where.cpus else 1.0,
        "thread_cpu_share_max": min(1.0, cpus) if cpus else 1.0,
        "server_busy_share": 1.0,
        "machine_busy_share": 1.0,
    }
    memory = tree.table("/proc/meminfo").get("MemTotal", "").split()
    limits = [group.memory_bytes, int(memory[0]) * 1024 if memory else None]
    known = [limit for limit in limits if limit]
    if known:
        results["resident_bytes"] = float(min(known))
    if llc_bytes and not where.missing.get("llc_bytes"):
        results["llc_bytes"] = llc_bytes * _llc_share(tree, where.resctrl)
    if where.outside is not None:  # what limits QEMU's own files does not limit a guest's disk
        return results
    return results | _disk_limits(tree, where.leader)


def _llc_share(tree: Tree, group: str) -> float:
    """Share of the cache's ways that a group may fill; 1 where it has no mask."""
    whole = int(tree.text(f"{RESCTRL}/info/L3/cbm_mask") or "0", 16)
    text = tree.text(f"{group.partition('/mon_groups')[0]}/schemata") or ""
    lines = dict(line.strip().split(":", 1) for line in text.splitlines() if ":" in line)
    parts = [part.partition("=")[2] for part in lines.get("L3", "").split(";")]
    masks = [int(part, 16).bit_count() for part in parts if part]
    return max(masks) / whole.bit_count() if masks and whole else 1.0


def _disk_limits(tree: Tree, pid: int) -> dict[str, float]:
    """Bytes a second that it may read and write, where each disk that is limited has one limit.

    Of version 1 only reading can be known: pages that it dirties are written by the kernel.
    """
    numbers: dict[str, list[int]] = {"read": [], "write": []}
    for at in cgroups.folders(tree, "blkio", pid):
        for line in (tree.text(f"{at}/io.max") or "").splitlines():
            of = dict(word.split("=", 1) for word in line.split()[1:])
            numbers["read"] += _numbers(of.get("rbps"))
            numbers["write"] += _numbers(of.get("wbps"))
        for line in (tree.text(f"{at}/blkio.throttle.read_bps_device") or "").splitlines():
            numbers["read"] += _numbers(line.split()[-1])
    return {f"disk_{way}_bytes_per_s": float(min(known)) for way, known in numbers.items() if known}


def _numbers(text: str | None) -> list[int]:
    """The limit; none for "max"."""
    number = as_int(text or "")
    return [number] if number else []
