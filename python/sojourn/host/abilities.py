"""What this machine lets the lab measure, and what would have to change for the rest."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sojourn import programs
from sojourn.host import hierarchy, sandbox, writable
from sojourn.host.facts import Facts
from sojourn.host.tree import Tree
from sojourn.host.writable import ON_HOST
from sojourn.install import vm


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """One thing the lab can do or cannot.

    Attributes:
        missing: what it lacks; "" if it can.
        fix: what would change that; "" if nothing does on this machine.
    """

    name: str
    missing: str
    fix: str

    @property
    def can(self) -> bool:
        """Whether nothing that it needs is missing here."""
        return not self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class _Need:
    """An ability and its needs: (holds, what is missing if not, fix)."""

    name: str
    needs: Callable[[Facts], tuple[tuple[bool, str, str], ...]]


TUN = Path("/dev/net/tun")


def _program(name: str, fix: str) -> tuple[bool, str, str]:
    return programs.maybe(name) is not None, f"program {name}", fix


def _open(facts: Facts, folder: str) -> tuple[bool, str, str]:
    """That a folder of the kernel's is not on a mount that is read-only."""
    is_open = folder not in facts.rights.read_only
    return is_open, f"write access to {folder} (it is mounted read-only)", ON_HOST


def _called(facts: Facts, name: str) -> tuple[bool, str, str]:
    """That no sandbox refuses a call."""
    return name not in facts.rights.refused, f"the call {name}: a sandbox refuses it", sandbox.FIX


def _groups(facts: Facts) -> tuple[bool, str, str]:
    """That the lab can make control groups, by the look with which a study is refused them."""
    no = hierarchy.refusal(Tree(Path(facts.root)), "cpu")
    return (False, no.missing, no.fix) if no else (True, "", "")


GROUPS = "CPU and memory shares (cgroup)"
CGROUP, CPUS = writable.GROUPS, "/sys"
NEEDS: tuple[_Need, ...] = (
    _Need(
        name="latency against load",
        needs=lambda f: (_program("sojourn-load", "make build"), _called(f, sandbox.AFFINITY)),
    ),
    _Need(
        name="memcached",
        needs=lambda _: (_program("memcached", "apt install memcached"),),
    ),
    _Need(
        name="nginx",
        needs=lambda _: (_program("nginx", "apt install nginx-light"),),
    ),
    _Need(
        name="servers as a user of their own",
        needs=lambda f: ((f.rights.may("setuid"), "the right to change users", f.rights.fix),),
    ),
    _Need(
        name="io_uring transport",
        needs=lambda f: (
            (f.rights.io_uring in (0, None), "io_uring", "sudo sysctl kernel.io_uring_disabled=0"),
            _called(f, sandbox.URING),
        ),
    ),
    _Need(
        name="stages inside the kernel (eBPF)",
        needs=lambda f: (
            (f.rights.has_btf, "kernel types (BTF)", "a kernel with CONFIG_DEBUG_INFO_BTF"),
            (not f.rights.lacking_to_trace, f.rights.lacking_to_trace, f.rights.fix),
            _called(f, sandbox.BPF),
        ),
    ),
    _Need(
        name="schedulers (sched_ext)",
        needs=lambda f: (
            (f.kernel.sched_ext, "sched_ext", "Linux 6.12 or later with CONFIG_SCHED_CLASS_EXT"),
            (not f.rights.lacking_to_trace, f.rights.lacking_to_trace, f.rights.fix),
            _called(f, sandbox.BPF),
        ),
    ),
    _Need(
        name="hardware counters",
        needs=lambda f: (
            (f.rights.has_pmu, "a performance monitoring unit", "bare metal, or a VM with vPMU"),
            (
                f.rights.may_load("perfmon") or (f.rights.perf_paranoid or 0) <= 2,
                "the right to use it",
                "sudo sysctl kernel.perf_event_paranoid=1",
            ),
            _called(f, sandbox.PERF),
        ),
    ),
    _Need(
        name="cache and memory-bandwidth shares (resctrl)",
        needs=lambda f: (
            (bool(f.rights.rdt), "a CPU with resource director technology", ""),
            (bool(f.rights.resctrl), "a kernel with resctrl", "CONFIG_X86_CPU_RESCTRL"),
            (
                f.rights.resctrl == "mounted",
                "its mount",
                "sudo mount -t resctrl resctrl /sys/fs/resctrl",
            ),
            _open(f, "/sys/fs/resctrl"),
            (f.rights.is_root, "the right to write to it", f.rights.fix),
        ),
    ),
    _Need(
        name=GROUPS,
        needs=lambda f: (
            (f.cgroup.version > 0, "control groups", "mount -t cgroup2 none /sys/fs/cgroup"),
            _groups(f),
        ),
    ),
    _Need(
        name="network namespaces",
        needs=lambda f: (
            (f.rights.may("sys_admin"), "CAP_SYS_ADMIN", f.rights.fix),
            (f.rights.may("net_admin"), "CAP_NET_ADMIN", f.rights.fix),
            (not f.rights.no_netns, f.rights.no_netns, "a kernel that has it, or fewer limits"),
        ),
    ),
    _Need(
        name="containers",
        needs=lambda f: (
            (f.cgroup.version > 0, "control groups", "mount -t cgroup2 none /sys/fs/cgroup"),
            _open(f, CGROUP),
            (f.rights.is_root and f.rights.may("sys_admin"), "CAP_SYS_ADMIN", f.rights.fix),
            _groups(f),  # a runtime makes one for each container
        ),
    ),
    _Need(
        name="virtual machines",
        needs=lambda f: (
            (f.rights.may("net_admin"), "CAP_NET_ADMIN", f.rights.fix),
            (platform.machine() == "x86_64", "a guest kernel for this kind of CPU", ""),
            _program(vm.QEMU, f"apt install {vm.PART.needs[vm.QEMU]}"),
            (TUN.exists(), f"{TUN}", "modprobe tun"),
            (vm.PART.made() is not None, "a guest kernel (vm: not installed)", vm.PART.command),
        ),
    ),
    _Need(
        name="network shares (HTB)",
        needs=lambda f: ((f.rights.may("net_admin"), "CAP_NET_ADMIN", f.rights.fix),),
    ),
    _Need(
        name="frequency",
        needs=lambda f: (
            (bool(f.power.driver), "cpufreq", "bare metal: hypervisors keep it for themselves"),
            _open(f, CPUS),
            (f.rights.is_root, "the right to set it", f.rights.fix),
        ),
    ),
    _Need(
        name="idle states",
        needs=lambda f: (
            (bool(f.power.idle_states), "cpuidle", "bare metal: hypervisors keep it"),
            _open(f, CPUS),
            (f.rights.is_root, "the right to set them", f.rights.fix),
        ),
    ),
    _Need(
        name="real-time scheduling",
        needs=lambda f: (
            (f.rights.may("sys_nice"), "CAP_SYS_NICE", f.rights.fix),
            _called(f, sandbox.SCHEDULER),
        ),
    ),
)


def abilities(facts: Facts) -> tuple[Ability, ...]:
    """What can be done here; the first need that does not hold is named."""
    return tuple(_ability(need, facts) for need in NEEDS)


def _ability(need: _Need, facts: Facts) -> Ability:
    for holds, missing, fix in need.needs(facts):
        if not holds:
            return Ability(name=need.name, missing=missing, fix=fix)
    return Ability(name=need.name, missing="", fix="")
