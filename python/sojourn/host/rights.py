"""What this program may do, and what the kernel offers to those who may."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from sojourn.disk import tables
from sojourn.host import namespaces, sandbox, writable
from sojourn.host.tree import Tree, as_int

#: Capabilities that the lab has a use for, by number (include/uapi/linux/capability.h).
CAPABILITIES = {
    6: "setgid",
    7: "setuid",
    12: "net_admin",
    21: "sys_admin",
    23: "sys_nice",
    24: "sys_resource",
    38: "perfmon",
    39: "bpf",
}
#: Of these the kernel asks in its own user namespace, whatever root has in another.
OF_MACHINE = ("sys_nice", "sys_resource", "perfmon", "bpf")
MACHINE_USERS = "user:[4026531837]"  # its own user namespace (include/linux/proc_ns.h)
ALL_USERS = ["0", "0", "4294967295"]  # user_namespaces(7)
SERVER_USERS = (61_184, 65_534)  # first of those that servers can become; nobody
NS_GET_USERNS = 0xB701  # ioctl_ns(2)
OPEN_FILES_USUAL = 4096  # where the machine does not tell: the usual hard limit of old systems
#: How the counters of a CPU begin, where the name goes on with its kind or number.
# fmt: off
PMUS = ("cpu_core", "cpu_atom", "cpu_lowpower", "armv7_", "armv8_", "armv9_", "arm_v", "apple_",
        "riscv_pmu", "loongarch_pmu")
# fmt: on
RDT_FLAGS = ("rdt_a", "cat_l3", "cat_l2", "mba", "cqm_llc", "cqm_mbm_total")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """Rights of this program and interfaces of the kernel.

    Attributes:
        capabilities: of `CAPABILITIES`, those in effect.
        open_files: most open files, now and at most.
        open_files_system: most that any process may be given (fs.nr_open).
        perf_paranoid: kernel.perf_event_paranoid; above 2, nothing without CAP_PERFMON.
        has_pmu: whether the CPU's counters are visible.
        has_btf: whether the kernel describes its types to BPF programs.
        bpf_restricted: kernel.unprivileged_bpf_disabled.
        resctrl: "mounted", "present", or "" if CPU or kernel have none.
        rdt: resource-director features of the CPU.
        io_uring: 0 for everybody, 1 for a group, 2 for no one; None: the kernel has no such switch.
        no_netns: what is missing for a network namespace with links, beside rights; "": nothing.
        read_only: of the folders that the lab writes to, those that no one can write here.
        is_inner: root is of a user namespace here, as in rootless containers, not the machine's.
        refused: calls that a sandbox refuses, whatever rights there are (`sandbox`).
    """

    uid: int
    capabilities: tuple[str, ...]
    open_files: tuple[int | None, int | None]
    open_files_system: int | None
    perf_paranoid: int | None
    has_pmu: bool
    has_btf: bool
    bpf_restricted: int | None
    resctrl: str
    rdt: tuple[str, ...]
    io_uring: int | None
    no_netns: str = ""
    read_only: tuple[str, ...] = ()
    is_inner: bool = False
    refused: tuple[str, ...] = ()

    @property
    def is_root(self) -> bool:
        """Whether this is user 0."""
        return self.uid == 0

    @property
    def fix(self) -> str:
        """What would give more rights."""
        return writable.fix(is_inner=self.is_inner, is_root=self.is_root)

    @property
    def open_files_max(self) -> int:
        """Most open files that this program can give to what it starts."""
        own = self.open_files[1] or OPEN_FILES_USUAL
        return max(own, self.open_files_system or 0) if self.may("sys_resource") else own

    def may(self, capability: str) -> bool:
        """Whether a capability is in effect."""
        return capability in self.capabilities

    def may_load(self, capability: str = "bpf") -> bool:
        """Whether BPF programs can be loaded, or another part of CAP_SYS_ADMIN is in effect."""
        return self.may(capability) or (self.may("sys_admin") and not self.is_inner)

    @property
    def lacking_to_trace(self) -> str:
        """As `lacking_to_trace` of the module has it."""
        return _lacking(self.capabilities, is_inner=self.is_inner)


def has(tree: Tree, number: int) -> bool:
    """Whether this program has a capability of `CAPABILITIES`, by its number."""
    return CAPABILITIES.get(number) in _in_effect(tree)


def lacking_to_trace(tree: Tree) -> str:
    """Capabilities without which no BPF program is loaded that sees the kernel's memory; "": none.

    Programs of sched_ext and those at tracepoints are such ones. The kernel asks for CAP_BPF and
    CAP_PERFMON, and takes CAP_SYS_ADMIN for either (bpf_token_capable in kernel/bpf/token.c).
    """
    return _lacking(_in_effect(tree), is_inner=is_inner(tree))


def _lacking(capabilities: tuple[str, ...], *, is_inner: bool) -> str:
    if "sys_admin" in capabilities and not is_inner:
        return ""
    lacking = (name for name in ("bpf", "perfmon") if name not in capabilities)
    return " and ".join(f"CAP_{name.upper()}" for name in lacking)


def fix(tree: Tree) -> str:
    """What would give more rights."""
    return writable.fix(is_inner=is_inner(tree), is_root=_uid(tree) == 0)


def is_inner(tree: Tree) -> bool:
    """Whether this is another user namespace than the machine's own."""
    try:
        return str(tree.path("/proc/self/ns/user").readlink()) != MACHINE_USERS
    except OSError:
        return (tree.text("/proc/self/uid_map") or " ".join(ALL_USERS)).split() != ALL_USERS


def _uid(tree: Tree) -> int | None:
    """Whom it acts as; None where that is unknown."""
    words = tree.table("/proc/self/status").get("Uid", "").split()
    return as_int("".join(words[1:2]))


def _in_effect(tree: Tree) -> tuple[str, ...]:
    """Capabilities that the kernel heeds; root of a user namespace seems to have all of them."""
    mask = as_int(tree.table("/proc/self/status").get("CapEff"), 16) or 0
    names = [name for bit, name in CAPABILITIES.items() if mask >> bit & 1]
    if not is_inner(tree):
        return tuple(names)
    lost = set(OF_MACHINE)
    if not _owns_network(tree):
        lost.add("net_admin")
    lost |= {
        f"set{kind}"
        for kind in ("uid", "gid")
        if not any(_is_mapped(tree.text(f"/proc/self/{kind}_map") or "", n) for n in SERVER_USERS)
    }
    return tuple(name for name in names if name not in lost)


def _owns_network(tree: Tree) -> bool:
    """Whether this network is the user namespace's own; a fake's is not."""
    if not tree.is_live:
        return False
    try:
        with Path("/proc/self/ns/net").open("rb") as network:
            owner = fcntl.ioctl(network, NS_GET_USERNS)
        with os.fdopen(owner, "rb"):
            return os.fstat(owner).st_ino == Path("/proc/self/ns/user").stat().st_ino
    except OSError:  # it is of a namespace above
        return False


def _is_mapped(text: str, number: int) -> bool:
    """Whether a user or group is there, by lines of `first, first outside, count`."""
    rows = (tuple(map(as_int, line.split())) for line in tables.lines(text))
    return any(
        first <= number < first + count
        for first, _, count in (row for row in rows if len(row) == 3)
        if first is not None and count is not None
    )


def read(tree: Tree) -> Rights:
    """What this process may do here, from the tree's /proc."""
    flags = set(tree.table("/proc/cpuinfo").get("flags", "").split())
    capabilities = _in_effect(tree)
    return Rights(
        uid=_uid(tree) or 0,
        capabilities=capabilities,
        open_files=_open_files(tree),
        open_files_system=tree.number("/proc/sys/fs/nr_open"),
        perf_paranoid=tree.number("/proc/sys/kernel/perf_event_paranoid"),
        has_pmu=any(map(_is_of_cpus, tree.names("/sys/bus/event_source/devices"))),
        has_btf=tree.exists("/sys/kernel/btf/vmlinux"),
        bpf_restricted=tree.number("/proc/sys/kernel/unprivileged_bpf_disabled"),
        resctrl=_resctrl(tree),
        rdt=tuple(flag for flag in RDT_FLAGS if flag in flags),
        io_uring=tree.number("/proc/sys/kernel/io_uring_disabled"),
        no_netns=namespaces.lacking(tree, capabilities),
        read_only=writable.closed(tree),
        is_inner=is_inner(tree),
        refused=sandbox.refused(tree),
    )


def _is_of_cpus(device: str) -> bool:
    """Whether a source of events counts what CPUs do: x86, Arm, POWER, RISC-V and s390 name it."""
    return device in {"cpu", "cpum_cf", "riscv-pmu"} or device.startswith(PMUS)


def _open_files(tree: Tree) -> tuple[int | None, int | None]:
    for line in tables.lines(tree.text("/proc/self/limits") or ""):
        if line.startswith("Max open files"):
            words = [*line.removeprefix("Max open files").split(), "", ""]
            return as_int(words[0]), as_int(words[1])
    return None, None


def _resctrl(tree: Tree) -> str:
    if tree.exists("/sys/fs/resctrl/schemata"):
        return "mounted"
    return "present" if "resctrl" in (tree.text("/proc/filesystems") or "").split() else ""
