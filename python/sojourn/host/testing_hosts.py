"""Machines of many makers: with holes, isolated CPUs and limits; of clouds; in containers."""

from __future__ import annotations

from sojourn.host.testing import AMD, CPU, DMI, NODE, PMU, X86, Core, Machine, arm, pairs, row

MACHINES: dict[str, Machine] = {
    # util-linux: each of these names its CPU in words of its own.
    "loongson": Machine(
        cores=row(0, 4),
        model="Loongson-3A5000-HV",
        kinds=(4,),
        has_pmu=True,
        words={"CPU Family": "Loongson-64bit", "Model Name": "Loongson-3A5000-HV"},
        files={f"{PMU}/loongarch_pmu/": ""},
    ),
    "risc_v": Machine(
        cores=row(0, 4),
        model="sifive,u74-mc",
        kinds=(4,),
        has_pmu=True,
        words={"hart": "1", "isa": "rv64imafdc", "mmu": "sv39", "uarch": "sifive,u74-mc"},
        files={f"{PMU}/riscv_pmu/": ""},
    ),
    "power7_vm": Machine(
        cores=[Core(tuple(range(4 * n, 4 * n + 4)), package=-1) for n in range(4)],
        model="POWER7 (architected), altivec supported",
        kinds=(16,),
        hypervisor="PowerVM",
        has_pmu=True,
        words={"cpu": "POWER7 (architected), altivec supported", "clock": "3000.000000MHz"},
        files={"/proc/device-tree/ibm,partition-name": "lpar1\0", f"{PMU}/cpu/": ""},
    ),
    "s390_lpar": Machine(
        cores=[*row(0, 3), *row(3, 5, package=1)],
        model="IBM/S390 2964",
        kinds=(8,),
        hypervisor="PR/SM",
        has_pmu=True,
        words={
            "vendor_id": "IBM/S390",
            "processor 0": "version = FF,  identification = 04D847,  machine = 2964",
        },
        files={"/proc/sysinfo": "Manufacturer: IBM\nLPAR Number: 18\n", f"{PMU}/cpum_cf/": ""},
    ),
    "s390_guest": Machine(
        cores=row(0, 2),
        model="IBM/S390 2817",
        kinds=(2,),
        hypervisor="z/VM",
        words={
            "vendor_id": "IBM/S390",
            "processor 1": "version = 00,  identification = 112233,  machine = 2817",
        },
        files={"/proc/sysinfo": "LPAR Number: 5\nVM00 Control Program: z/VM    6.2.0\n"},
    ),
    # hwloc: an old kernel that ends its lists with a NUL; two packages of two nodes.
    "server_arm_nul": Machine(
        cores=arm(
            [c for n in range(4) for c in row(32 * n, 32, package=36 * (n // 2), node=n)],
            "0xd01",
            "0x48",
        ),
        model="TSV110",
        kinds=(128,),
        nodes=4,
        end="\0\n",
    ),
    # util-linux: 96 CPUs in eight nodes.
    "server_eight_nodes": Machine(
        cores=[c for n in range(8) for c in pairs(6 * n, 6, 48, package=n // 4, node=n)],
        model="AMD EPYC 7451 24-Core Processor",
        kinds=(96,),
        nodes=8,
        words={**AMD, "model name": "AMD EPYC 7451 24-Core Processor"},
    ),
    # hwloc: CPUs that are offline, and CPU 0 with its whole node among them.
    "without_cpu_0": Machine(
        cores=[Core((1, 9), node=1), Core((3,), node=1), Core((5, 13), node=1), Core((7,), node=1)],
        model="Xeon",
        kinds=(6,),
        nodes=2,
        words={**X86, "model name": "Xeon"},
        files={f"{NODE}/node0/cpulist": ""},
    ),
    # hwloc: numbers with holes.
    "sparse": Machine(
        cores=[c for n in range(4) for c in row(64 * n + 2, 3, package=n, node=2 * n + 1)],
        model="AMD Opteron",
        kinds=(12,),
        nodes=4,
        words={**AMD, "model name": "AMD Opteron"},
    ),
    # hwloc: four nodes with CPUs, four of fast memory without.
    "memory_nodes": Machine(
        cores=[c for n in range(4) for c in row(16 * n, 16, node=n)],
        model="Xeon Phi",
        kinds=(64,),
        nodes=8,
        words={**X86, "model name": "Xeon Phi"},
        files={f"{NODE}/node{n}/cpulist": "" for n in range(4, 8)},
    ),
    # hwloc: lists of siblings that do not name the CPU itself are nonsense.
    "wrong_siblings": Machine(
        cores=row(0, 4),
        model="Xeon",
        kinds=(4,),
        words={**X86, "model name": "Xeon"},
        files={f"{CPU}/cpu{n}/topology/core_cpus_list": "0-1" for n in range(2, 4)},
    ),
    # What clouds rent: no flag reports the hypervisor, no caches are reported.
    "cloud_arm": Machine(
        cores=arm(row(0, 4), "0xd40"),
        model="Neoverse-V1",
        kinds=(4,),
        hypervisor="Amazon EC2",
        has_pmu=True,
        files={
            f"{PMU}/armv8_pmuv3_0/": "",
            f"{DMI}/sys_vendor": "Amazon EC2",
            f"{DMI}/product_name": "c7g.xlarge",
        },
    ),
    "cloud_arm_metal": Machine(
        cores=arm(row(0, 8), "0xd40"),
        model="Neoverse-V1",
        kinds=(8,),
        files={f"{DMI}/sys_vendor": "Amazon EC2", f"{DMI}/product_name": "c7g.metal"},
    ),
    "cloud_arm_azure": Machine(
        cores=arm(row(0, 2), "0xd0c"),
        model="Neoverse-N1",
        kinds=(2,),
        hypervisor="Hyper-V",
        files={
            f"{DMI}/sys_vendor": "Microsoft Corporation",
            f"{DMI}/product_name": "Virtual Machine",
        },
    ),
    "cloud_x86": Machine(
        cores=pairs(0, 2, 1),
        model="Intel(R) Xeon(R)",
        kinds=(4,),
        hypervisor="Google",
        words={**X86, "flags": "fpu tsc hypervisor", "model name": "Intel(R) Xeon(R)"},
        files={f"{DMI}/sys_vendor": "Google", f"{DMI}/product_name": "Google Compute Engine"},
    ),
    # Bare metal whose maker makes virtual machines too.
    "chromebook": Machine(
        cores=pairs(0, 2, 1),
        model="Celeron",
        kinds=(4,),
        words={**X86, "model name": "Celeron"},
        files={f"{DMI}/sys_vendor": "Google", f"{DMI}/product_name": "Eve"},
    ),
    # isolcpus=2-7 as every shell sees it, and a shell that was limited besides.
    "isolated": Machine(
        cores=row(0, 8),
        model="Xeon",
        kinds=(8,),
        allowed="0-1",
        words={**X86, "model name": "Xeon"},
        files={f"{CPU}/isolated": "2-7", f"{CPU}/nohz_full": "2-7"},
    ),
    "isolated_limited": Machine(
        cores=row(0, 8),
        model="Xeon",
        kinds=(1,),
        allowed="0",
        words={**X86, "model name": "Xeon"},
        files={f"{CPU}/isolated": "2-7"},
    ),
    "limited_by_cpuset": Machine(
        cores=row(0, 8),
        model="Xeon",
        kinds=(3,),
        allowed="0-2",
        words={**X86, "model name": "Xeon"},
        files={
            f"{CPU}/isolated": "6-7",
            "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu",
            "/sys/fs/cgroup/cpuset.cpus.effective": "0-2",
        },
    ),
    # A container as it comes: root, and all that it could set mounted read-only.
    "container": Machine(
        cores=row(0, 4),
        model="Xeon",
        kinds=(4,),
        words={**X86, "model name": "Xeon"},
        files={
            "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory",
            "/proc/sys/net/core/busy_read": "0",
            "/proc/self/mountinfo": "1 0 0:1 / / rw - overlay overlay rw\n"
            "2 1 0:2 / /proc rw - proc proc rw\n3 2 0:2 /sys /proc/sys ro - proc proc rw\n"
            "4 1 0:3 / /sys ro,nosuid - sysfs sysfs ro\n"
            "5 4 0:4 / /sys/fs/cgroup ro - cgroup2 cgroup rw",
        },
    ),
}
