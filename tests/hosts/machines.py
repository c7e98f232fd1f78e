"""Fakes: /sys and /proc of machines that do not exist, just enough of each to be read.

No file here was copied from a machine. What the lab does with hardware that is tested only against
these (two sockets, hyper-threads, cpufreq, resctrl, cgroup v2 limits) is tested against a fake.
"""

from __future__ import annotations

from pathlib import Path

CPU = "/sys/devices/system/cpu"


def cpu_list(cpus: list[int]) -> str:
    return ",".join(str(cpu) for cpu in cpus)


def topology(*, sockets: int, cores: int, smt: int) -> dict[str, str]:
    """CPUs numbered as Linux does on x86: all first hyper-threads, then all second ones."""
    total = sockets * cores
    files = {f"{CPU}/online": f"0-{total * smt - 1}", f"{CPU}/isolated": "", f"{CPU}/nohz_full": ""}
    files[f"{CPU}/smt/control"] = "on" if smt > 1 else "notsupported"
    for cpu in range(total * smt):
        core = cpu % total
        base = f"{CPU}/cpu{cpu}"
        socket = core // cores
        siblings = [core + total * i for i in range(smt)]
        package = [
            c + total * i for i in range(smt) for c in range(socket * cores, (socket + 1) * cores)
        ]
        files[f"{base}/topology/core_cpus_list"] = cpu_list(siblings)
        files[f"{base}/topology/physical_package_id"] = str(socket)
        for index, (level, kind, size, shared) in enumerate(
            [
                (1, "Data", "32K", siblings),
                (2, "Unified", "1024K", siblings),
                (3, "Unified", "16896K", package),
            ]
        ):
            cache = f"{base}/cache/index{index}"
            files[f"{cache}/level"] = str(level)
            files[f"{cache}/type"] = kind
            files[f"{cache}/size"] = size
            files[f"{cache}/ways_of_associativity"] = "11"
            files[f"{cache}/coherency_line_size"] = "64"
            files[f"{cache}/shared_cpu_list"] = cpu_list(sorted(shared))
        node = f"/sys/devices/system/node/node{socket}"
        files[f"{node}/cpulist"] = cpu_list(sorted(package))
        files[f"{node}/meminfo"] = f"Node {socket} MemTotal:       49000000 kB"
    return files


def status(*, allowed: str, root: bool) -> str:
    caps = "000001ffffffffff" if root else "0000000000000000"
    uid = 0 if root else 1000
    uids = "\t".join([str(uid)] * 4)
    return f"Name:\tsojourn\nUid:\t{uids}\nCapEff:\t{caps}\nCpus_allowed_list:\t{allowed}"


def common(*, cpus: int, root: bool, allowed: str | None = None) -> dict[str, str]:
    return {
        "/proc/self/status": status(allowed=allowed or f"0-{cpus - 1}", root=root),
        "/proc/self/cgroup": "0::/user.slice",
        "/proc/self/limits": "Max open files            1024        524288      files",
        "/proc/cpuinfo": "processor\t: 0\nmodel name\t: Fake CPU\nflags\t\t: fpu tsc",
        "/proc/meminfo": "MemTotal: 65536000 kB\nMemAvailable: 60000000 kB\nSwapTotal: 0 kB",
        "/proc/stat": "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 100 0 100 800 0 0 0 0 0 0",
        "/proc/loadavg": "0.02 0.01 0.00 1/200 4242",
        "/proc/cmdline": "root=/dev/sda1 quiet",
        "/proc/sys/kernel/osrelease": "6.1.0-fake",
        "/proc/sys/kernel/perf_event_paranoid": "2",
        "/proc/sys/net/ipv4/ip_local_port_range": "32768\t60999",
        "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    }


def one_cpu() -> dict[str, str]:
    """The smallest cloud machine."""
    return topology(sockets=1, cores=1, smt=1) | common(cpus=1, root=False)


def two_cpus() -> dict[str, str]:
    """Two cores of a virtual machine, with steal."""
    files = topology(sockets=1, cores=2, smt=1) | common(cpus=2, root=True)
    files["/proc/cpuinfo"] = "processor\t: 0\nmodel name\t: Fake CPU\nflags\t\t: fpu tsc hypervisor"
    files["/proc/stat"] = "cpu  100 0 100 700 0 0 0 100 0 0\ncpu0 50 0 50 350 0 0 0 50 0 0"
    return files


def two_siblings() -> dict[str, str]:
    """One core with two hyper-threads: what two virtual CPUs often are."""
    return topology(sockets=1, cores=1, smt=2) | common(cpus=2, root=False)


def four_smt() -> dict[str, str]:
    """A laptop: two cores, four hyper-threads, a governor that saves power."""
    files = topology(sockets=1, cores=2, smt=2) | common(cpus=4, root=False)
    for cpu in range(4):
        freq = f"{CPU}/cpu{cpu}/cpufreq"
        files[f"{freq}/scaling_driver"] = "intel_pstate"
        files[f"{freq}/scaling_governor"] = "powersave"
        files[f"{freq}/cpuinfo_min_freq"] = "800000"
        files[f"{freq}/cpuinfo_max_freq"] = "3900000"
        for state, (name, exit_us) in enumerate([("POLL", 0), ("C1", 2), ("C6", 133)]):
            idle = f"{CPU}/cpu{cpu}/cpuidle/state{state}"
            files[f"{idle}/name"] = name
            files[f"{idle}/latency"] = str(exit_us)
            files[f"{idle}/disable"] = "0"
    files[f"{CPU}/intel_pstate/no_turbo"] = "0"
    return files


def big_server() -> dict[str, str]:
    """Two sockets of 12 cores with 2 hyper-threads (P2), resctrl, root."""
    files = topology(sockets=2, cores=12, smt=2) | common(cpus=48, root=True)
    flags = "fpu tsc rdt_a cat_l3 mba cqm_mbm_total"
    files["/proc/cpuinfo"] = f"processor\t: 0\nmodel name\t: Fake Xeon\nflags\t\t: {flags}"
    files["/proc/sys/kernel/numa_balancing"] = "1"
    files["/sys/fs/resctrl/schemata"] = "L3:0=7ff;1=7ff\nMB:0=100;1=100"
    files["/sys/kernel/btf/vmlinux"] = "fake"
    files["/proc/4242/stat"] = (
        "4242 (irqbalance) S 1 4242 4242 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 55 0 0"
    )
    files["/proc/4242/comm"] = "irqbalance"
    return files


def small_nodes() -> dict[str, str]:
    """Four sockets of four cores: no node holds seven server threads."""
    return topology(sockets=4, cores=4, smt=1) | common(cpus=16, root=False)


def contained() -> dict[str, str]:
    """A container on a big machine: four of 48 CPUs, one and a half by quota, 2 GiB."""
    files = topology(sockets=2, cores=12, smt=2) | common(cpus=48, root=False, allowed="4-5,28-29")
    group = "/sys/fs/cgroup/user.slice"
    files[f"{group}/cpu.max"] = "150000 100000"
    files[f"{group}/memory.max"] = str(2 << 30)
    files[f"{group}/memory.current"] = str(512 << 20)
    files[f"{group}/cpuset.cpus.effective"] = "4-5,28-29"
    return files


MACHINES = {
    make.__name__: make
    for make in (one_cpu, two_cpus, two_siblings, four_smt, big_server, small_nodes, contained)
}


def write(name: str, root: Path) -> Path:
    """Write a fake machine below `root`."""
    for path, text in MACHINES[name]().items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
    return root
