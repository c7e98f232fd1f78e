"""What adds noise on this machine, how much, and how to mend it. Nothing is changed here.

Each check is a function from facts to findings; `CHECKS` lists them in reading order. The score is
the sum of the findings' points: 0 is a quiet machine, from `NOISY` on results are labelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from sojourn.host.abilities import abilities
from sojourn.host.culprits import Sight
from sojourn.host.facts import Facts
from sojourn.host.finding import SOME_NOISE, Finding, Report
from sojourn.host.placement import ONE_CORE, ONE_CPU, place
from sojourn.host.tree import cpu_text
from sojourn.visible import in_line

NOISY = 50
LOOK_S = 3.0  # how long doctor watches the CPUs that a service would get
SCORE_MAX = 100
STEAL_SHARE_MIN = 0.001  # 1 ms a second: the size of memcached's QoS bound (C4)
EXIT_US_MAX = 10  # an idle state that wakes slower is seen in a 100-us latency (L8)
OPEN_FILES_MIN = 4096
SOMAXCONN_MIN = 1024
GOOD_CLOCKS = ("tsc", "arch_sys_counter", "timebase", "riscv_clocksource")


Check: TypeAlias = Callable[[Facts], Iterator[Finding]]


def doctor(facts: Facts, sight: Sight | None = None) -> Report:
    """Look a machine over; `sight`: who ran on the CPUs that a service would get."""
    found = [finding for check in CHECKS for finding in check(facts)]
    found += culprits(sight) if sight else []
    score = min(SCORE_MAX, sum(finding.points for finding in found))
    label = "noisy" if score >= NOISY else "some noise" if score >= SOME_NOISE else "quiet"
    return Report(
        score=score,
        label=label,
        findings=tuple(sorted(found, key=lambda finding: -finding.points)),
        abilities=abilities(facts),
        sight=sight,
    )


def culprits(sight: Sight) -> Iterator[Finding]:
    """Tasks that keep a service waiting, by its own CPUs."""
    long = [culprit for culprit in sight.culprits if culprit.long_runs_per_s > 0]
    if long:
        share = sum(culprit.share for culprit in long)
        yield Finding(
            name="culprits",
            what=f"others run where a service would: {sight.text}",
            effect="a request that comes meanwhile waits until they are done, unless the service "
            "goes before them",
            mend="end them, or give the service CPUs of its own (isolcpus) or a real-time class",
            points=min(25, 1 + round(100 * share)),
        )


def steal(facts: Facts) -> Iterator[Finding]:
    """CPU time that the hypervisor gave to others."""
    now, boot = facts.activity.steal_share_now, facts.activity.steal_share_boot
    worst = max(now or 0.0, boot or 0.0)
    if worst >= STEAL_SHARE_MIN:
        seen = f", {now:.1%} in the last {facts.activity.sampled_s:.1g} s" if now else ""
        yield Finding(
            name="steal",
            what=f"the hypervisor took {boot or 0.0:.1%} of the CPU time since boot{seen}",
            effect="client and server stop for milliseconds: the client's outages are excluded by "
            "the log, the server's are in its tail",
            mend="use a machine with CPUs of its own; else compare only within one interleaved run",
            points=min(45, 15 + round(500 * worst)),
        )


def few_cpus(facts: Facts) -> Iterator[Finding]:
    """What server, client and lab have to share."""
    points = {ONE_CPU: 45, ONE_CORE: 35}
    for shared in place(facts.topology).shared:
        yield Finding(
            name="cpus",
            what=shared.what,
            effect=shared.effect,
            mend="use a machine with 4 or more cores",
            points=points.get(shared, 10),
        )


def quota(facts: Facts) -> Iterator[Finding]:
    """CPU bandwidth control stops the whole group when its quota is used up."""
    cpus, limit = len(facts.topology.allowed), facts.cgroup.cpu_quota
    if limit is not None and limit < cpus:
        yield Finding(
            name="quota",
            what=f"the control group may use {limit:g} of {cpus} CPUs",
            effect="server and client are stopped together for up to 100 ms when it is used up",
            mend="lift cpu.max, or start the container without --cpus",
            points=30,
        )


def frequency(facts: Facts) -> Iterator[Finding]:
    """CPUs that change their speed with the load."""
    slow = [governor for governor in facts.power.governors if governor != "performance"]
    if slow:
        yield Finding(
            name="governor",
            what=f"frequency governor {', '.join(slow)} ({facts.power.driver})",
            effect="service takes longer at low load, and jumps when the frequency changes (L8)",
            mend="sudo cpupower frequency-set -g performance",
            points=15,
        )
    if facts.power.turbo:
        intel = facts.power.driver.startswith("intel")
        path = "intel_pstate/no_turbo" if intel else "cpufreq/boost"
        yield Finding(
            name="turbo",
            what="turbo is on",
            effect="speed depends on temperature and on what other cores do",
            mend=f"echo {int(intel)} | sudo tee /sys/devices/system/cpu/{path}",
            points=8,
        )


def idle(facts: Facts) -> Iterator[Finding]:
    """Idle states from which a CPU wakes slowly."""
    deep = [s for s in facts.power.idle_states if s.enabled and s.exit_us > EXIT_US_MAX]
    if deep:
        names = ", ".join(f"{state.name} ({state.exit_us} us)" for state in deep)
        yield Finding(
            name="idle states",
            what=f"CPUs may sleep deeply: {names}",
            effect="the first request after a pause waits for the wake-up; latency falls with load",
            mend=f"sudo cpupower idle-set -D {EXIT_US_MAX}",
            points=12,
        )


def memory(facts: Facts) -> Iterator[Finding]:
    """What moves pages about behind the server's back."""
    if facts.memory.huge_pages == "always":
        yield Finding(
            name="huge pages",
            what="transparent huge pages are always on",
            effect="compaction stops the server now and then, and runs differ by where it happened",
            mend="echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
            points=6,
        )
    if facts.memory.numa_balancing and len(facts.topology.node_bytes) > 1:
        yield Finding(
            name="numa balancing",
            what="the kernel moves pages between NUMA nodes",
            effect="page faults in mid-measurement",
            mend="sudo sysctl kernel.numa_balancing=0",
            points=8,
        )
    if facts.memory.swap_used_bytes:
        yield Finding(
            name="swap",
            what=f"{facts.memory.swap_used_bytes >> 20} MiB are swapped out",
            effect="a page that comes back from disk costs milliseconds",
            mend="sudo swapoff -a",
            points=8,
        )


def clock(facts: Facts) -> Iterator[Finding]:
    """A clock that is read by a system call costs on every request."""
    if facts.kernel.clocksource not in (*GOOD_CLOCKS, "kvm-clock", "hyperv_clocksource_tsc_page"):
        can = "tsc" in facts.kernel.clocksources
        path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        yield Finding(
            name="clock",
            what=f"clock source is {facts.kernel.clocksource}",
            effect="reading the time is a system call: hundreds of ns on every mark",
            mend=f"echo tsc | sudo tee {path}" if can else "boot with tsc=reliable",
            points=12,
        )


def interrupts(facts: Facts) -> Iterator[Finding]:
    """A finding if irqbalance moves interrupts between CPUs."""
    if facts.activity.irqbalance:
        yield Finding(
            name="irqbalance",
            what="irqbalance is running",
            effect="interrupts move between CPUs in mid-measurement (L8)",
            mend="sudo systemctl stop irqbalance",
            points=6,
        )


def pacing(facts: Facts) -> Iterator[Finding]:
    """Congestion control that spaces packets out by a timer."""
    if facts.network.congestion.startswith("bbr"):
        yield Finding(
            name="pacing",
            what=f"TCP congestion control is {facts.network.congestion}",
            effect="the kernel spaces a server's replies out by a timer, which costs CPU time and "
            "can delay them; the client's own sockets use reno",
            mend="sudo sysctl net.ipv4.tcp_congestion_control=cubic",
            points=5,
        )


def others(facts: Facts) -> Iterator[Finding]:
    """Programs that use the CPUs now."""
    if facts.activity.busy:
        who = ", ".join(f"{in_line(b.name)} ({b.pid}) {b.share:.0%}" for b in facts.activity.busy)
        used = sum(process.share for process in facts.activity.busy)
        yield Finding(
            name="other programs",
            what=f"others use the CPUs now: {who}",
            effect="they take turns with server and client",
            mend="end them, or wait until they are done",
            points=min(30, 5 + round(25 * used / max(1, len(facts.topology.allowed)))),
        )


def limits(facts: Facts) -> Iterator[Finding]:
    """Limits that a study with many connections meets."""
    hard = facts.rights.open_files_max
    if hard < OPEN_FILES_MIN:
        yield Finding(
            name="open files",
            what=f"at most {hard} open files",
            effect="no study with more connections; nginx keeps fewer files open",
            mend="ulimit -Hn 65536 as root, or LimitNOFILE= of the service that starts the lab",
            points=0,
        )
    if facts.network.somaxconn is not None and facts.network.somaxconn < SOMAXCONN_MIN:
        yield Finding(
            name="accept queue",
            what=f"net.core.somaxconn is {facts.network.somaxconn}",
            effect="connections opened together are refused or wait a second",
            mend="sudo sysctl net.core.somaxconn=4096",
            points=0,
        )


def hyper_threads(facts: Facts) -> Iterator[Finding]:
    """Siblings that share a core."""
    if any(len(cpu.siblings) > 1 for cpu in facts.topology.cpus):
        yield Finding(
            name="hyper-threads",
            what="cores have hyper-threads",
            effect="what runs on a server's sibling slows the server; the lab leaves those of its "
            f"server idle (CPU {cpu_text(place(facts.topology).server)}), others may not",
            mend="echo off | sudo tee /sys/devices/system/cpu/smt/control",
            points=3,
        )


def virtual(facts: Facts) -> Iterator[Finding]:
    """A virtual machine hides its neighbours."""
    if facts.kernel.hypervisor:
        yield Finding(
            name="virtual machine",
            what=f"runs under {facts.kernel.hypervisor}",
            effect="neighbours share caches and memory bandwidth unseen; timers and wake-ups cost "
            "exits to the hypervisor",
            mend="repeat on bare metal before a number is called the service's own",
            points=5,
        )


CHECKS: tuple[Check, ...] = (
    steal,
    few_cpus,
    quota,
    frequency,
    idle,
    memory,
    clock,
    interrupts,
    pacing,
    others,
    hyper_threads,
    virtual,
    limits,
)
