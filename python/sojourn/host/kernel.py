"""The kernel: which, how it was started, which clock it has, and what it runs on."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.host import model
from sojourn.host.tree import Tree

CLOCK = "/sys/devices/system/clocksource/clocksource0"
UNKNOWN = "unknown"  # no file tells
VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What `uname`, the command line and sysfs say.

    Attributes:
        system: the distribution, as /etc/os-release names it.
        mitigations: (vulnerability, what is done about it).
        hypervisor: its name, "unknown", or "" on bare metal.
        preemption: "full", "voluntary", "none", "lazy"; "" if the kernel does not say.
        sched_ext: whether schedulers can be loaded.
    """

    release: str
    version: str
    system: str
    cmdline: str
    clocksource: str
    clocksources: tuple[str, ...]
    mitigations: tuple[tuple[str, str], ...]
    hypervisor: str
    preemption: str
    sched_ext: bool


def read(tree: Tree) -> Kernel:
    """The kernel's release, settings and mitigations, from the tree's /proc and /sys."""
    names = tree.names(VULNERABILITIES)
    return Kernel(
        release=tree.text("/proc/sys/kernel/osrelease") or "unknown",
        version=tree.text("/proc/sys/kernel/version") or "",
        system=_system(tree),
        cmdline=tree.text("/proc/cmdline") or "",
        clocksource=tree.text(f"{CLOCK}/current_clocksource") or UNKNOWN,
        clocksources=tuple((tree.text(f"{CLOCK}/available_clocksource") or "").split()),
        mitigations=tuple((n, tree.text(f"{VULNERABILITIES}/{n}") or "") for n in names),
        hypervisor=model.hypervisor(tree),
        preemption=_preemption(tree),
        sched_ext=tree.exists("/sys/kernel/sched_ext/state"),
    )


def _system(tree: Tree) -> str:
    for line in (tree.text("/etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return "unknown"


def _preemption(tree: Tree) -> str:
    version = tree.text("/proc/sys/kernel/version") or ""
    live = tree.text("/sys/kernel/debug/sched/preempt") or ""
    if "(" in live:
        return live.partition("(")[2].partition(")")[0]
    words = {"PREEMPT_RT": "realtime", "PREEMPT_DYNAMIC": "dynamic", "PREEMPT": "full"}
    return next((text for word, text in words.items() if word in version), "")
