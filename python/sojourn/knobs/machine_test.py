"""Knobs that are files of the machine, on made-up /sys and /proc (fakes), and how felt."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from sojourn.errors import HostFault
from sojourn.host.tree import Tree
from sojourn.knobs import (
    KINDS,
    Asked,
    Knob,
    Turned,
    busy_poll,
    cstates,
    frequency,
    irq,
    napi,
    rps,
    settings,
    smt,
    thp,
)
from sojourn.knobs.settings import Setting
from sojourn.knobs.testing import MemoryBook, put

CPU = "/sys/devices/system/cpu"
QUEUE = "/sys/class/net/lo/queues/rx-0/rps_cpus"
#: A laptop's files, as their documentation has them (Documentation/admin-guide/pm, ABI/testing).
FILES = {
    thp.PATH: "always [madvise] never",
    f"{CPU}/smt/control": "on",
    f"{CPU}/online": "0-3",
    busy_poll.READ: "0",
    busy_poll.POLL: "0",
    QUEUE: "0",
    "/sys/class/net/eth0/threaded": "0",
    "/sys/class/net/eth0/device/uevent": "",
    "/sys/class/net/lo/threaded": "0",
    "/proc/irq/9/smp_affinity_list": "0-3",
    "/proc/irq/24/smp_affinity_list": "2",
    "/proc/interrupts": "CPU0 CPU1 CPU2 CPU3\n  9: 5 0 0 0 IO-APIC acpi\n 24: 0 0 7 0 PCI-MSI eth0",
    f"{CPU}/intel_pstate/no_turbo": "0",
    **{
        f"{CPU}/cpu{cpu}/{name}": text
        for cpu in range(4)
        for name, text in {
            "topology/core_cpus_list": f"{cpu % 2},{cpu % 2 + 2}",
            "cpufreq/scaling_governor": "powersave",
            "cpufreq/scaling_available_governors": "performance powersave",
            "cpufreq/energy_performance_preference": "balance_performance",
            "cpufreq/scaling_min_freq": "800000",
            "cpufreq/scaling_max_freq": "3900000",
            "cpufreq/scaling_cur_freq": "3800000",
            "cpufreq/base_frequency": "2400000",
            "cpuidle/state0/latency": "0",
            "cpuidle/state0/disable": "0",
            "cpuidle/state0/usage": "5",
            "cpuidle/state1/latency": "133",
            "cpuidle/state1/disable": "0",
            "cpuidle/state1/usage": "9",
        }.items()
    },
}
#: Knob, level, and what the files must say then.
TURNS: list[tuple[str, str, dict[str, str]]] = [
    ("thp", "never", {thp.PATH: "never"}),
    ("smt", "off", {f"{CPU}/smt/control": "off"}),
    ("busy_poll", "50us", {busy_poll.READ: "50", busy_poll.POLL: "50"}),
    ("rps", "1-2", {QUEUE: "6"}),
    ("napi", "threaded", {"/sys/class/net/eth0/threaded": "1", "/sys/class/net/lo/threaded": "0"}),
    ("irq", "1", {f"/proc/irq/{n}/smp_affinity_list": "1" for n in (9, 24)}),
    ("cstates", "20us", {f"{CPU}/cpu3/cpuidle/state{n}/disable": str(n) for n in (0, 1)}),
    (
        "frequency",
        "governor:performance+turbo:off+max:2.4GHz",
        {
            f"{CPU}/cpu3/cpufreq/scaling_governor": "performance",
            f"{CPU}/cpu0/cpufreq/scaling_max_freq": "2400000",
            f"{CPU}/intel_pstate/no_turbo": "1",
        },
    ),
    ("frequency", "epp:power", {f"{CPU}/cpu1/cpufreq/energy_performance_preference": "power"}),
]
Build = Callable[[str], Knob]


@pytest.fixture
def book() -> MemoryBook:
    return MemoryBook()


@pytest.fixture
def build(tmp_path: Path, book: MemoryBook) -> Build:
    for path, text in FILES.items():
        put(tmp_path, path, text)

    def make(name: str) -> Knob:
        on = Turned(label="web", leader=os.getpid(), book=book, tree=Tree(tmp_path), work=tmp_path)
        return KINDS[name].build(on)

    return make


def said(root: Path) -> dict[str, str]:
    return {path: (root / path.lstrip("/")).read_text().strip() for path in FILES}


@pytest.mark.parametrize(("name", "level", "wanted"), TURNS)
def test_on_a_fake_files_are_noted_written_read_back_and_put_back(  # noqa: PLR0917  # its cases
    build: Build, book: MemoryBook, tmp_path: Path, name: str, level: str, wanted: dict[str, str]
) -> None:
    before, knob = said(tmp_path), build(name)
    assert KINDS[name].lacks(Asked(level=level, tree=Tree(tmp_path))) is None
    knob.apply(level)
    now = said(tmp_path)
    assert {path: now[path] for path in wanted} == wanted
    ((kind, facts),) = book.open.values()
    assert kind == "settings"
    noted: Any = facts["settings"]
    assert {path for path in before if before[path] != now[path]} <= {one["path"] for one in noted}
    knob.restore()
    # A choice has lost its brackets, which the kernel would have moved.
    assert said(tmp_path) == {**before, **({thp.PATH: "madvise"} if name == "thp" else {})}
    assert not book.open


@pytest.mark.parametrize(("name", "level", "wanted"), TURNS)
def test_on_a_fake_a_file_that_somebody_else_wrote_since_is_seen(
    build: Build, tmp_path: Path, name: str, level: str, wanted: dict[str, str]
) -> None:
    knob = build(name)
    knob.apply(level)
    path = next(iter(wanted))
    put(tmp_path, path, {"irq": "3", "rps": "8"}.get(name, "7"))
    assert knob.verify().verdict == "violated"
    assert path in knob.verify().why
    knob.restore()
    assert said(tmp_path)[path] in {"3", "7", "8"}  # it is theirs now


@pytest.mark.parametrize(("name", "level", "wanted"), TURNS)
def test_on_a_fake_after_a_crash_everything_is_as_it_was(  # noqa: PLR0917  # its cases
    build: Build, book: MemoryBook, tmp_path: Path, name: str, level: str, wanted: dict[str, str]
) -> None:
    before = said(tmp_path)
    build(name).apply(level)
    ((_, facts),) = book.open.values()
    report: Any = facts["settings"]
    noted = [Setting.from_json(one) for one in report]
    assert not [w for one in reversed(noted) if (w := settings.put_back(one, Tree(tmp_path)))]
    assert said(tmp_path) == {**before, **({thp.PATH: "madvise"} if name == "thp" else {})}


@pytest.mark.parametrize(
    ("name", "level", "missing"),
    [
        ("thp", "never", "transparent huge pages"),
        ("smt", "off", "hyper-threads"),
        ("busy_poll", "50us", "busy polling"),
        ("rps", "0", "receive packet steering"),
        ("napi", "threaded", "card"),
        ("irq", "0", "interrupts"),
        ("cstates", "20us", "cpuidle"),
        ("cstates", "pm_qos:20us", "/dev/cpu_dma_latency"),
        ("frequency", "turbo:off", "cpufreq"),
    ],
)
def test_what_a_bare_machine_lacks_is_reported(
    tmp_path: Path, name: str, level: str, missing: str
) -> None:
    lack = KINDS[name].lacks(Asked(level=level, tree=Tree(tmp_path)))
    assert lack is not None
    assert missing in lack.missing
    knob = KINDS[name].build(
        Turned(label="web", leader=os.getpid(), book=MemoryBook(), tree=Tree(tmp_path))
    )
    with pytest.raises(HostFault, match="cannot be set"):
        knob.apply(level)


@pytest.mark.parametrize(
    ("name", "level", "missing"),
    [
        ("frequency", "governor:schedutil", "governor schedutil"),
        ("smt", "off", "hyper-threads"),
        ("frequency", "turbo:off", "a switch for turbo"),
    ],
)
def test_what_part_of_a_level_lacks_is_reported(
    build: Build, tmp_path: Path, name: str, level: str, missing: str
) -> None:
    build(name)
    put(tmp_path, f"{CPU}/smt/control", "notsupported")
    (tmp_path / CPU.lstrip("/") / "intel_pstate/no_turbo").unlink()
    lack = KINDS[name].lacks(Asked(level=level, tree=Tree(tmp_path)))
    assert lack is not None
    assert missing in lack.missing


def test_an_idle_governor_that_heeds_no_disabled_state_is_reported(
    build: Build, tmp_path: Path
) -> None:
    build("cstates")
    put(tmp_path, cstates.GOVERNOR, "haltpoll")
    lack = cstates.lacks(Asked(level="20us", tree=Tree(tmp_path)))
    assert lack is not None
    assert "pm_qos" in lack.fix
    put(tmp_path, cstates.DEVICE, "")
    assert cstates.lacks(Asked(level="pm_qos:20us", tree=Tree(tmp_path))) is None


def test_steering_of_another_place_cannot_be_seen_from_here(tmp_path: Path) -> None:
    lack = rps.lacks(Asked(level="0", place="netns", tree=Tree(tmp_path)))
    assert lack is not None
    assert "netns" in lack.missing


def test_a_level_that_is_refused_midway_leaves_what_it_was_to_be_put_back(
    build: Build, book: MemoryBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, knob, change = said(tmp_path), build("busy_poll"), settings.change
    knob.apply("50us")

    def refuse(setting: Setting, level: str, tree: Tree) -> str:
        is_second = (setting.path, level) == (busy_poll.POLL, "70")
        return "Operation not permitted" if is_second else change(setting, level, tree)

    monkeypatch.setattr(settings, "change", refuse)
    with pytest.raises(HostFault, match="not permitted"):
        knob.apply("70us")
    knob.restore()
    assert said(tmp_path) == before
    assert not book.open


def test_a_bound_that_the_kernel_clamps_is_refused_and_is_what_it_was(
    build: Build, book: MemoryBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    knob, way = build("frequency"), settings.WAYS[settings.TEXT]
    for cpu in range(4):
        put(tmp_path, f"{CPU}/cpu{cpu}/cpufreq/scaling_max_freq", "2000000")
    before = said(tmp_path)

    def clamp(setting: Setting, level: str, tree: Tree) -> None:
        is_bound = setting.path.endswith("max_freq")
        way.write(setting, str(min(3_900_000, int(level))) if is_bound else level, tree)

    monkeypatch.setitem(settings.WAYS, settings.TEXT, way._replace(write=clamp))
    with pytest.raises(HostFault, match="the kernel made 3900000 of it"):
        knob.apply("max:5GHz")
    knob.restore()
    assert said(tmp_path) == before
    assert not book.open


def test_a_file_that_cannot_be_written_refuses_the_level(build: Build, tmp_path: Path) -> None:
    path = tmp_path / f"{CPU}/smt/control".lstrip("/")
    path.unlink()
    path.symlink_to("/proc/version")  # may be read, not written
    with pytest.raises(HostFault, match="smt off cannot be set"):
        build("smt").apply("off")


@pytest.mark.parametrize(
    ("effect", "verdict"),
    [
        (thp.judge("always", (True, True)), "holds"),
        (thp.judge("never", (True, True)), "violated"),
        (thp.judge("madvise", (True, True)), "violated"),
        (thp.judge("always", (False, True)), "unknown"),
        (irq.judge([1], {"9": [0, 5]}), "holds"),
        (irq.judge([1], {"9": [1, 5]}), "holds"),
        (irq.judge([1], {"9": [5, 0]}), "violated"),
        (irq.judge([1], {"9": [0, 0]}), "unknown"),
        (rps.judge([1], 0, {0: 10, 1: 2000}), "holds"),
        (rps.judge([1], 0, {0: 2000, 1: 10}), "violated"),
        (rps.judge([1], 0, {0: 3500, 1: 1500}), "unknown"),  # beside much traffic of others
        (rps.judge([1], 0, {0: 10, 1: 500}), "unknown"),  # not all of them yet
        (napi.judge("threaded", ["eth0"], {"eth0"}), "holds"),
        (napi.judge("threaded", ["eth0"], set()), "violated"),
        (napi.judge("softirq", ["eth0"], {"eth0"}), "violated"),
        (busy_poll.judge("50us", 50), "unknown"),
        (busy_poll.judge("50us", 0), "violated"),
        (cstates.judge(0, 7, 50), "holds"),
        (cstates.judge(0, 7, 19), "unknown"),  # a busy CPU takes the shallowest state by itself
        (cstates.judge(3, 7, 50), "violated"),
        (cstates.judge(3, 7, 1), "violated"),
        (cstates.judge(0, 0, 0), "unknown"),
        (cstates.judge(None, 7, 50), "unknown"),
        (smt.judge("off", 1), "holds"),
        (smt.judge("off", 2), "violated"),
        (smt.judge("on", 1), "violated"),
        (frequency.judge({"max": "2.4GHz"}, {"now": 2_400_000}), "holds"),
        (frequency.judge({"max": "2.4GHz"}, {"now": 3_800_000}), "violated"),
        (frequency.judge({"min": "3GHz"}, {"now": 800_000}), "violated"),
        (frequency.judge({"turbo": "off"}, {"now": 3_800_000, "nominal": 2_400_000}), "violated"),
        (frequency.judge({"governor": "performance"}, {"now": 1_000, "most": 2_000}), "unknown"),
        (frequency.judge({"governor": "performance"}, {"now": 2, "most": 2}), "holds"),
        (frequency.judge({"epp": "power"}, {"now": 2, "most": 2}), "unknown"),
    ],
)
def test_an_effect_is_judged_both_ways(effect: Any, verdict: str) -> None:
    assert effect.verdict == verdict


@pytest.mark.parametrize(
    ("level", "now", "most", "verdict"),
    [
        ("governor:performance", 2_800_000, 3_600_000, "unknown"),  # what all cores reach together
        ("governor:performance", 3_500_000, 3_600_000, "holds"),
        ("governor:performance", 1_200_000, 3_600_000, "violated"),
        ("governor:performance", 1_500_000, 1_500_000, "holds"),  # bounded below the nominal one
        ("governor:performance+turbo:off", 2_200_000, 3_600_000, "holds"),
        ("governor:performance+turbo:off", 2_800_000, 3_600_000, "violated"),
    ],
)
def test_a_cpu_must_reach_its_nominal_frequency_and_may_reach_its_highest(
    level: str, now: int, most: int, verdict: str
) -> None:
    facts = {"now": now, "most": most, "nominal": 2_200_000}
    assert frequency.judge(frequency.parts(level), facts).verdict == verdict


def test_a_nominal_frequency_is_looked_for_in_two_places(build: Build, tmp_path: Path) -> None:
    build("frequency")
    tree, at = Tree(tmp_path), f"{CPU}/cpu0/cpufreq"
    assert frequency._facts(tree, at)["nominal"] == 2_400_000
    (tmp_path / at.lstrip("/") / "base_frequency").unlink()
    assert "nominal" not in frequency._facts(tree, at)
    put(tmp_path, f"{CPU}/cpu0/acpi_cppc/nominal_freq", "2450")  # MHz
    assert frequency._facts(tree, at)["nominal"] == 2_450_000


@pytest.mark.parametrize(
    ("usable", "on", "verdict"), [({2, 3}, [{2}], "holds"), ({9}, [], "unknown")]
)
def test_the_frequency_that_is_read_is_that_of_the_cpu_that_burns(  # noqa: PLR0917  # its cases
    build: Build,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    usable: set[int],
    on: list[set[int]],
    verdict: str,
) -> None:
    burnt: list[set[int]] = []

    class Burning:
        def __init__(self, *_: object) -> None:
            """Nothing runs."""

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            """Nothing ran."""

        def on(self, cpus: set[int]) -> Self:
            burnt.append(cpus)
            return self

        def go(self) -> Self:
            return self

        def hear(self, _: float) -> dict[str, float]:
            return {}

    knob: Any = build("frequency")
    knob.apply("governor:performance")
    put(tmp_path, f"{CPU}/cpu0/cpufreq/scaling_cur_freq", "800000")  # it is idle
    monkeypatch.setattr(frequency, "Probe", Burning)
    monkeypatch.setattr(Tree, "is_live", property(lambda _: True))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: usable)
    assert knob.effect().verdict == verdict
    assert burnt == on


def test_on_a_fake_cores_with_one_thread_online_are_distinguished_from_those_with_two(
    build: Build, tmp_path: Path
) -> None:
    knob = build("smt")
    knob.apply("off")
    assert knob.verify().verdict == "violated"  # a fake's CPUs stay online
    put(tmp_path, f"{CPU}/online", "0-1")
    knob.apply("on")
    knob.apply("off")
    assert knob.verify().verdict == "holds"


def test_interrupts_of_cpus_that_are_offline_are_not_mixed_up(tmp_path: Path) -> None:
    put(tmp_path, "/proc/interrupts", "CPU0 CPU2\n 9: 5 7 IO-APIC acpi\nNMI: 0 0 Non-maskable")
    assert irq.counts(Tree(tmp_path)) == {"9": [5, 0, 7]}


@pytest.mark.parametrize("name", ["irq", "rps"])
def test_a_cpu_that_is_offline_is_refused_before_anything_starts(
    build: Build, tmp_path: Path, name: str
) -> None:
    build(name)
    put(tmp_path, "/sys/devices/system/cpu/online", "0-1,3")
    for level, missing in (("0,2", "CPU 2"), ("2-7", "CPU 2,4-7"), ("0-1,3", ""), ("server", "")):
        lack = KINDS[name].lacks(Asked(level=level, tree=Tree(tmp_path)))
        assert (lack.missing if lack else "") == missing
        assert lack is None or lack.fix == "give some of CPUs 0-1,3"


def test_a_full_disk_keeps_no_interrupt_from_being_moved(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)

    monkeypatch.setattr(irq, "_write_to_disk", full)
    monkeypatch.setattr(Tree, "is_live", True)
    knob = build("irq")
    knob.apply("1")
    assert "No space left" in knob.verify().why
    knob.restore()


def test_packets_are_counted_by_cpu(tmp_path: Path) -> None:
    zeros = " ".join(["00000000"] * 11)
    put(tmp_path, "/proc/net/softnet_stat", f"0000000a {zeros} 00000000\n00000010 {zeros} 00000002")
    assert rps.processed(Tree(tmp_path)) == {0: 10, 2: 16}


PRIVILEGED = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@PRIVILEGED
@pytest.mark.parametrize("name", ["thp", "rps", "cstates"])
def test_on_this_machine_a_level_is_in_force_and_one_that_is_not_written_is_caught(
    name: str, book: MemoryBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    level = {"thp": "never", "rps": "0", "cstates": "pm_qos:0us"}[name]
    if lack := KINDS[name].lacks(Asked(level=level)):
        pytest.skip(lack.missing)
    on = Turned(label="web", leader=os.getpid(), book=book, work=tmp_path)
    knob: Any = KINDS[name].build(on)
    before = knob.read()
    try:
        knob.apply(level)
        effect = knob.verify()
        assert effect.verdict in {"holds", "unknown"}, effect.why
        assert effect.verdict == "holds" or name != "thp", effect.why
    finally:
        knob.restore()
    assert knob.read() == before
    assert not book.open
    monkeypatch.setattr(knob, "_level", level)  # it says that it was turned, and wrote nothing
    monkeypatch.setattr(knob, "_effect", None)
    effect = knob.verify()
    if name == "thp" and "not huge where it asked" in effect.why:
        return  # none is left on this machine: nothing to tell by
    assert effect.verdict in {"violated", "unknown"}, effect.why
    assert effect.verdict == "violated" or name != "thp"
