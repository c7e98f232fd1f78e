"""What this program may do, and what the kernel offers to those who may."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.disk import tables
from sojourn.host import namespaces, writable
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

    @property
    def is_root(self) -> bool:
        """Whether this is user 0."""
        return self.uid == 0

    @property
    def open_files_max(self) -> int:
        """Most open files that this program can give to what it starts."""
        own = self.open_files[1] or OPEN_FILES_USUAL
        return max(own, self.open_files_system or 0) if self.may("sys_resource") else own

    def may(self, capability: str) -> bool:
        """Whether a capability is in effect."""
        return capability in self.capabilities


def has(tree: Tree, number: int) -> bool:
    """Whether this program has a capability, by its number (linux/capability.h)."""
    mask = as_int(tree.table("/proc/self/status").get("CapEff"), 16) or 0
    return bool(mask >> number & 1)


def read(tree: Tree) -> Rights:
    """What this process may do here, from the tree's /proc."""
    status = tree.table("/proc/self/status")
    mask = as_int(status.get("CapEff"), 16) or 0
    flags = set(tree.table("/proc/cpuinfo").get("flags", "").split())
    capabilities = tuple(name for bit, name in CAPABILITIES.items() if mask >> bit & 1)
    return Rights(
        uid=as_int("".join(status.get("Uid", "").split()[1:2]) or "0") or 0,
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
