"""How capable each CPU is beside the others: P and E cores, big and little ones, are not alike.

What the kernel schedules by is asked first, and the rest only where it is silent:

1. `cpu_capacity`, of 1024 (Arm, RISC-V, and Intel's hybrids from Linux 6.13 on).
2. `acpi_cppc/highest_perf`. AMD's is a ranking of favoured cores that are alike, so it is not
   taken there.
3. `cpufreq/cpuinfo_max_freq`.

CPUs whose numbers are within a tenth of each other are one kind: favoured cores of one model clock
a little higher, and little ones are slower by a fifth and more. Where Intel's kernel driver lists
the kinds itself (`/sys/devices/cpu_core/cpus`, `cpu_atom`, `cpu_lowpower`) they are never one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from sojourn.host.tree import Tree, cpu_list

CPU_DIR = "/sys/devices/system/cpu"
FULL = 1024
LIKE = 0.9  # of the next faster one, to be of its kind
#: Intel's kinds by the kernel's driver for their counters, the most capable first.
LISTS = ("cpu_core", "cpu_atom", "cpu_lowpower")
RANKING_ONLY = ("AuthenticAMD", "HygonGenuine")


@dataclass(frozen=True, slots=True)
class Capacity:
    """Of one CPU.

    Attributes:
        kind: 0 of the most capable, then upwards.
        share: of the most capable one's speed, of 1024; None: the machine does not tell.
    """

    kind: int = 0
    share: int | None = None


def read(tree: Tree, cpus: tuple[int, ...]) -> dict[int, Capacity]:
    """The capacity of each CPU; all of one kind where the machine tells no difference."""
    numbers = _numbers(tree, cpus)
    most = max(numbers.values(), default=0)
    shares = {cpu: round(FULL * number / most) for cpu, number in numbers.items()}
    listed = _listed(tree)
    step = _steps(shares)
    marks = {cpu: (step.get(cpu, 0), listed.get(cpu, 0)) for cpu in cpus}
    if not numbers:
        marks = {cpu: (0, listed.get(cpu, 0)) for cpu in cpus}
    kinds = {mark: nth for nth, mark in enumerate(sorted(set(marks.values())))}
    return {cpu: Capacity(kinds[marks[cpu]], shares.get(cpu)) for cpu in cpus}


def _numbers(tree: Tree, cpus: tuple[int, ...]) -> Mapping[int, int]:
    """The first measure that is reported about every CPU; {} if none is."""
    files = ["cpu_capacity", "acpi_cppc/highest_perf", "cpufreq/cpuinfo_max_freq"]
    if tree.table("/proc/cpuinfo").get("vendor_id") in RANKING_ONLY:
        files.remove("acpi_cppc/highest_perf")
    for file in files:
        numbers = {cpu: tree.number(f"{CPU_DIR}/cpu{cpu}/{file}") or 0 for cpu in cpus}
        if cpus and all(number > 0 for number in numbers.values()):
            return numbers
    return {}


def _listed(tree: Tree) -> dict[int, int]:
    """CPU to its place in `LISTS`, of those that a list names."""
    return {
        cpu: nth
        for nth, name in enumerate(LISTS)
        for cpu in cpu_list(tree.text(f"/sys/devices/{name}/cpus"))
    }


def _steps(shares: Mapping[int, int]) -> dict[int, int]:
    """CPU to how many gaps are above its share.

    >>> _steps({0: 280, 1: 280, 2: 855, 3: 1024, 4: 997})
    {0: 2, 1: 2, 2: 1, 3: 0, 4: 0}
    """
    levels = sorted({*shares.values()}, reverse=True)
    above = dict.fromkeys(levels[:1], 0)
    for upper, lower in pairwise(levels):
        above[lower] = above[upper] + (lower < LIKE * upper)
    return {cpu: above[share] for cpu, share in shares.items()}
