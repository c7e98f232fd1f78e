"""What adds noise on this machine, how much, and how to fix it. Nothing is changed here.

Each check is a function from facts to findings; `CHECKS` lists them in reading order. The score is
the sum of the findings' points: 0 is a quiet machine, from `NOISY` on results are labelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from sojourn.host import doctor_cpus as cpus
from sojourn.host.abilities import GROUPS, abilities
from sojourn.host.culprits import Sight
from sojourn.host.facts import Facts
from sojourn.host.finding import SOME_NOISE, Finding, Report
from sojourn.host.kernel import UNKNOWN
from sojourn.host.preflight import TAKEN_SHARE_MAX, Look
from sojourn.host.tree import cpu_text
from sojourn.host.writable import ON_HOST
from sojourn.visible import in_line

NOISY = 50
LOOK_S = 1.5  # how long doctor watches the CPUs that a service would get
SCORE_MAX = 100
STEAL_SHARE_MIN = 0.001  # 1 ms a second: the size of memcached's QoS bound (C4)
OPEN_FILES_MIN = 4096
SOMAXCONN_MIN = 1024
#: Read without a system call: x86, Arm, POWER, RISC-V, s390, LoongArch, sparc.
GOOD_CLOCKS = (
    "tsc",
    "arch_sys_counter",
    "timebase",
    "riscv_clocksource",
    "tod",
    "Constant",
    "stick",
)
X86_CLOCKS = {"hpet", "acpi_pm", "pit"}


Check: TypeAlias = Callable[[Facts], Iterator[Finding]]


def doctor(facts: Facts, sight: Sight | None = None, seen: Look | None = None) -> Report:
    """Look a machine over.

    Args:
        facts: of it.
        sight: who ran on the CPUs that a service would get.
        seen: what stopped a task there.
    """
    results = [finding for check in CHECKS for finding in check(facts)]
    named = [*culprits(sight)] if sight else []
    results += named or (unseen(seen) if seen else ())
    score = min(SCORE_MAX, sum(finding.points for finding in results))
    label = "noisy" if score >= NOISY else "some noise" if score >= SOME_NOISE else "quiet"
    return Report(
        score=score,
        label=label,
        findings=tuple(sorted(results, key=lambda finding: -finding.points)),
        abilities=abilities(facts),
        sight=sight,
    )


def culprits(sight: Sight) -> Iterator[Finding]:
    """Tasks that keep a service waiting, by its own CPUs."""
    long = [culprit for culprit in sight.culprits if culprit.long_runs_per_s > 0]
    if long:
        yield _taken(
            "culprits",
            f"others run where a service would: {sight.text}",
            "end them, or give the service CPUs of its own (isolcpus) or a real-time class",
            sum(culprit.share for culprit in long),
        )


def unseen(seen: Look) -> Iterator[Finding]:
    """Time of those CPUs that others had, whom this container, or this user, cannot see."""
    share, cpus = seen.all.taken_share, cpu_text(seen.cpus)
    if share > TAKEN_SHARE_MAX:
        yield _taken(
            "unseen",
            f"others that cannot be seen from here took {share:.0%} of CPU {cpus}",
            "look as root on the host itself who runs there (top), and end it",
            share,
        )


def _taken(name: str, what: str, fix: str, share: float) -> Finding:
    """That others have a share of the CPUs that a service would get."""
    return Finding(
        name=name,
        what=what,
        effect="a request that comes meanwhile waits until they are done, unless the service goes "
        "before them",
        fix=fix,
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
            fix="use a machine with CPUs of its own; else compare only within one interleaved run",
            points=min(45, 15 + round(500 * worst)),
        )


def read_only(facts: Facts) -> Iterator[Finding]:
    """Folders of the kernel's that no one can write, as in most containers."""
    closed = facts.rights.read_only
    if closed:
        yield Finding(
            name="read-only",
            what=f"{', '.join(closed)} mounted read-only",
            effect="knobs that write there cannot be turned, and what is advised here for files "
            "below has to be done outside",
            fix=ON_HOST,
            points=0,
        )


def memory(facts: Facts) -> Iterator[Finding]:
    """What moves pages about behind the server's back."""
    if facts.memory.huge_pages == "always":
        yield Finding(
            name="huge pages",
            what="transparent huge pages are always on",
            effect="compaction stops the server now and then, and runs differ by where it happened",
            fix="echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
            points=6,
        )
    if facts.memory.numa_balancing and len(facts.topology.node_bytes) > 1:
        yield Finding(
            name="numa balancing",
            what="the kernel moves pages between NUMA nodes",
            effect="page faults in mid-measurement",
            fix="sudo sysctl kernel.numa_balancing=0",
            points=8,
        )
    if facts.memory.swap_used_bytes:
        yield Finding(
            name="swap",
            what=f"{facts.memory.swap_used_bytes >> 20} MiB are swapped out",
            effect="a page that comes back from disk costs milliseconds",
            fix="sudo swapoff -a",
            points=8,
        )


def clock(facts: Facts) -> Iterator[Finding]:
    """A clock that is read by a system call costs on every request."""
    now = facts.kernel.clocksource
    if now in {*GOOD_CLOCKS, "kvm-clock", "hyperv_clocksource_tsc_page"}:
        return
    if now == UNKNOWN:
        yield Finding(
            name="clock",
            what="the clock source cannot be read (/sys is missing or hidden)",
            effect="if reading the time is a system call, every mark costs hundreds of ns",
            fix="mount -t sysfs none /sys, or look on the host",
            points=0,
        )
        return
    better = next((one for one in GOOD_CLOCKS if one in facts.kernel.clocksources), "")
    path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    fix = f"echo {better} | sudo tee {path}" if better else ""
    if not better and {now, *facts.kernel.clocksources} & X86_CLOCKS:
        fix = "boot with tsc=reliable"
    yield Finding(
        name="clock",
        what=f"clock source is {now}",
        effect="reading the time is a system call: hundreds of ns on every mark",
        fix=fix or "use a machine with per-CPU clocks that the kernel trusts",
        points=12,
    )


def interrupts(facts: Facts) -> Iterator[Finding]:
    """A finding if irqbalance moves interrupts between CPUs."""
    if facts.activity.irqbalance:
        yield Finding(
            name="irqbalance",
            what="irqbalance is running",
            effect="interrupts move between CPUs in mid-measurement (L8)",
            fix="sudo systemctl stop irqbalance",
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
            fix="sudo sysctl net.ipv4.tcp_congestion_control=cubic",
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
            fix="end them, or wait until they are done",
            points=min(30, 5 + round(25 * used / max(1, len(facts.topology.allowed)))),
        )


def groups(facts: Facts) -> Iterator[Finding]:
    """How the scheduler groups what runs: something to know of every result about neighbours."""
    now = facts.grouping
    able = next(one for one in abilities(facts) if one.name == GROUPS)
    runs = "runs put service, client and neighbours into a control group each"
    if able.missing:
        runs = f"runs leave that as it is, because {able.missing} is missing"
    yield Finding(
        name="groups",
        what=f"the scheduler groups programs that are started here by {now.by}; {runs}",
        effect="the kernel divides a CPU between groups, so groups decide which task waits for "
        "which. The same neighbour can make the tail 40 times as long or not",
        fix=f"{able.fix + ', or g' if able.missing else 'g'}ive a study another groups than "
        '"own": "session", "shared" or "nested"',
        points=0,
    )


def limits(facts: Facts) -> Iterator[Finding]:
    """Limits that a study with many connections meets."""
    hard = facts.rights.open_files_max
    if hard < OPEN_FILES_MIN:
        yield Finding(
            name="open files",
            what=f"at most {hard} open files",
            effect="no study with more connections; nginx keeps fewer files open",
            fix="ulimit -Hn 65536 as root, or LimitNOFILE= of the service that starts the lab",
            points=0,
        )
    if facts.network.somaxconn is not None and facts.network.somaxconn < SOMAXCONN_MIN:
        yield Finding(
            name="accept queue",
            what=f"net.core.somaxconn is {facts.network.somaxconn}",
            effect="connections opened together are refused or wait a second",
            fix="sudo sysctl net.core.somaxconn=4096",
            points=0,
        )


def virtual(facts: Facts) -> Iterator[Finding]:
    """A virtual machine hides its neighbours."""
    if facts.kernel.hypervisor:
        yield Finding(
            name="virtual machine",
            what=f"runs under {facts.kernel.hypervisor}",
            effect="neighbours share caches and memory bandwidth unseen; timers and wake-ups cost "
            "exits to the hypervisor",
            fix="repeat on bare metal before a number is called the service's own",
            points=5,
        )


CHECKS: tuple[Check, ...] = (
    steal,
    cpus.few_cpus,
    cpus.unlike_cpus,
    cpus.isolated,
    cpus.limited,
    read_only,
    cpus.quota,
    cpus.frequency,
    cpus.idle,
    memory,
    clock,
    interrupts,
    pacing,
    others,
    cpus.hyper_threads,
    virtual,
    groups,
    limits,
)
