"""Machines whose CPUs are not alike, or only seem so: shapes of util-linux and hwloc's tests."""

from __future__ import annotations

from sojourn.host.testing import AMD, DMI, PMU, X86, Core, Machine, arm, listed, pairs, row

MACHINES: dict[str, Machine] = {
    # util-linux: three little cores, two pairs of middle ones, a big one, each cluster a "package".
    "phone": Machine(
        cores=[
            *arm(row(0, 3, capacity=280, khz=2_016_000), "0xd46"),
            *arm(row(3, 2, package=1, capacity=855, khz=2_803_200), "0xd4d"),
            *arm(row(5, 2, package=1, capacity=855, khz=2_803_200), "0xd47"),
            *arm(row(7, 1, package=2, capacity=1024, khz=3_187_200), "0xd4e"),
        ],
        model="Cortex-A510 + Cortex-A715 + Cortex-A710 + Cortex-X3",
        kinds=(1, 4, 3),
        has_pmu=True,
        files={f"{PMU}/armv8_cortex_a510/": ""},
    ),
    # hwloc: a laptop of 2023 with Linux 6.1, which lists no kinds: six P cores, eight E cores.
    "laptop_p_e": Machine(
        cores=[
            *pairs(0, 4, 1, perf=64, khz=5_000_000),
            *pairs(8, 2, 1, perf=67, khz=5_200_000),
            *row(12, 8, perf=39, khz=3_900_000),
        ],
        model="13th Gen Intel(R) Core(TM) i7-1370P",
        kinds=(12, 8),
        words={**X86, "model name": "13th Gen Intel(R) Core(TM) i7-1370P"},
    ),
    # util-linux: P cores whose numbers are mixed, E cores, and two for low power.
    "laptop_three_kinds": Machine(
        cores=[
            Core((0, 5), speed={"khz": 5_100_000}),
            *(Core(cpus, speed={"khz": 4_800_000}) for cpus in ((1, 2), (3, 4))),
            *pairs(6, 3, 1, khz=5_100_000),
            *row(12, 8, khz=3_800_000),
            *row(20, 2, khz=2_500_000),
        ],
        model="Intel(R) Core(TM) Ultra 9 185H",
        kinds=(12, 8, 2),
        has_pmu=True,
        words={**X86, "model name": "Intel(R) Core(TM) Ultra 9 185H"},
        files=listed(11, "12-21"),
    ),
    # Only the lists tell that they are not alike.
    "lists_alone": Machine(
        cores=[*pairs(0, 2, 1), *row(4, 4)],
        model="Core i3-N",
        kinds=(4, 4),
        has_pmu=True,
        words={**X86, "model name": "Core i3-N"},
        files=listed(3, "4-7"),
    ),
    # hwloc: ten little and ten big cores in turn of five; the big ones differ by some MHz.
    "desktop_arm": Machine(
        cores=[
            *arm(row(0, 5, capacity=718), "0xd87"),
            *arm(row(5, 5, capacity=997), "0xd85"),
            *arm(row(10, 5, capacity=718), "0xd87"),
            *arm(row(15, 5, capacity=1024), "0xd85"),
        ],
        model="Cortex-A725 + Cortex-X925",
        kinds=(10, 10),
        has_pmu=True,
        files={f"{PMU}/armv8_pmuv3_0/": "", f"{DMI}/sys_vendor": "NVIDIA"},
    ),
    "board_big_little": Machine(
        cores=[*arm(row(0, 4, capacity=485), "0xd03"), *arm(row(4, 2, capacity=1024), "0xd08")],
        model="Cortex-A53 + Cortex-A72",
        kinds=(2, 4),
        has_pmu=True,
        files={f"{PMU}/armv8_cortex_a72/": ""},
    ),
    # Four cores and eight compact ones: the frequency tells, the ranking would as well.
    "laptop_compact": Machine(
        cores=[
            *pairs(0, 4, 12, perf=196, khz=5_100_000),
            *pairs(4, 8, 12, perf=150, khz=3_300_000),
        ],
        model="AMD Ryzen AI 9",
        kinds=(8, 16),
        words={**AMD, "model name": "AMD Ryzen AI 9"},
    ),
    # Sixteen cores that are alike: `highest_perf` is their ranking, 166 to 241.
    "desktop_favoured": Machine(
        cores=[Core((n, n + 16), speed={"perf": 166 + 5 * n, "khz": 5_881_000}) for n in range(16)],
        model="AMD Ryzen 9 7950X",
        kinds=(32,),
        words={**AMD, "model name": "AMD Ryzen 9 7950X"},
    ),
    # Favoured cores of Intel clock a twentieth higher.
    "server_favoured": Machine(
        cores=[*row(0, 14, khz=4_500_000), *row(14, 2, khz=4_700_000)],
        model="Xeon W",
        kinds=(16,),
        has_pmu=True,
        words={**X86, "model name": "Xeon W"},
        files={f"{PMU}/cpu/": ""},
    ),
}
