"""Made-up machines for tests: a list of cores becomes the files that the kernel would show of them.

A core is its CPUs, package and node, and what the kernel reports of its speed. No file is a copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
DMI = "/sys/class/dmi/id"
PMU = "/sys/bus/event_source/devices"
SPEEDS = {
    "capacity": "cpu_capacity",
    "perf": "acpi_cppc/highest_perf",
    "khz": "cpufreq/cpuinfo_max_freq",
}


@dataclass(frozen=True, slots=True)
class Core:
    """One physical core.

    Attributes:
        cpus: its logical CPUs that are online.
        speed: of `SPEEDS`, what the kernel reports of them.
        words: lines of its CPUs in /proc/cpuinfo.
    """

    cpus: tuple[int, ...]
    package: int = 0
    node: int = 0
    speed: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine and what is to be read of it.

    Attributes:
        end: what ends the kernel's lists.
        files: what else there is, by path; a name that ends in "/" is a folder.
        kinds: CPUs of each kind that can be used, the most capable first.
        model, hypervisor, has_pmu: as they should be read.
        nodes: of memory; those without CPUs too.
    """

    cores: Sequence[Core]
    model: str
    kinds: tuple[int, ...]
    hypervisor: str = ""
    has_pmu: bool = False
    nodes: int = 1
    allowed: str = ""
    end: str = "\n"
    words: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


X86 = {"vendor_id": "GenuineIntel", "flags": "fpu tsc"}
AMD = {"vendor_id": "AuthenticAMD", "flags": "fpu tsc"}


def row(first: int, count: int, *, package: int = 0, node: int = 0, **speed: int) -> list[Core]:
    """Cores of one CPU each, numbered on."""
    return [Core((first + nth,), package, node, speed) for nth in range(count)]


def pairs(
    first: int, count: int, step: int, *, package: int = 0, node: int = 0, **speed: int
) -> list[Core]:
    """Cores of two CPUs each, the second `step` behind the first; 1: side by side."""
    firsts = (first + nth * (2 if step == 1 else 1) for nth in range(count))
    return [Core((cpu, cpu + step), package, node, speed) for cpu in firsts]


def arm(cores: Sequence[Core], part: str, maker: str = "0x41") -> list[Core]:
    """Cores with the numbers that /proc/cpuinfo has of Arm's."""
    words = {"CPU implementer": maker, "CPU part": part}
    return [Core(c.cpus, c.package, c.node, c.speed, words) for c in cores]


def listed(core: int, atom: str, lowpower: str = "") -> dict[str, str]:
    """Intel's kinds, as the drivers of their counters list them."""
    lists = {"cpu_core": f"0-{core}", "cpu_atom": atom, "cpu_lowpower": lowpower}
    results = {f"/sys/devices/{name}/cpus": text for name, text in lists.items() if text}
    return {**results, **{f"{PMU}/{name}/": "" for name, text in lists.items() if text}}


def text_of(cpus: Sequence[int]) -> str:
    """CPUs as a list of the kernel's, one by one."""
    return ",".join(map(str, sorted(cpus)))


def files(machine: Machine) -> dict[str, str]:
    """All files of a machine, by path."""
    online = [cpu for core in machine.cores for cpu in core.cpus]
    results = {f"{CPU}/online": text_of(online), "/proc/self/status": _status(machine, online)}
    blocks = []
    for core in machine.cores:
        for cpu in core.cpus:
            base = f"{CPU}/cpu{cpu}"
            results[f"{base}/topology/core_cpus_list"] = text_of(core.cpus)
            results[f"{base}/topology/physical_package_id"] = str(core.package)
            results |= {f"{base}/{SPEEDS[name]}": str(n) for name, n in core.speed.items()}
            words = {"processor": str(cpu), **machine.words, **core.words}
            blocks.append("\n".join(f"{name}\t: {text}" for name, text in words.items()))
    for node in {core.node for core in machine.cores}:
        cpus = [cpu for core in machine.cores if core.node == node for cpu in core.cpus]
        results[f"{NODE}/node{node}/cpulist"] = text_of(cpus)
    results["/proc/cpuinfo"] = "\n\n".join(blocks)
    results["/proc/meminfo"] = "MemTotal: 16000000 kB\nMemAvailable: 12000000 kB"
    return {**results, **machine.files}


def _status(machine: Machine, online: Sequence[int]) -> str:
    allowed = machine.allowed or text_of(online)
    return f"Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nCpus_allowed_list:\t{allowed}"


def write(machine: Machine, root: Path) -> Path:
    """Write a machine below `root`."""
    for path, text in files(machine).items():
        file = root / path.lstrip("/")
        if path.endswith("/"):
            file.mkdir(parents=True, exist_ok=True)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + machine.end, encoding="utf-8")
    return root
