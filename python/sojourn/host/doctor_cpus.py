"""What doctor looks for in the CPUs: too few, unlike, isolated, limited, slowed, asleep."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.host import unlike
from sojourn.host.facts import Facts
from sojourn.host.finding import Finding
from sojourn.host.placement import place
from sojourn.host.shared import ONE_CORE, ONE_CPU, PARTLY_ISOLATED, UNLIKE
from sojourn.host.tree import cpu_text

EXIT_US_MAX = 10  # an idle state that wakes slower is seen in a 100-us latency (L8)


def few_cpus(facts: Facts) -> Iterator[Finding]:
    """What server, client and lab have to share."""
    points = {ONE_CPU: 45, ONE_CORE: 35}
    for shared in place(facts.topology).shared:
        if shared in unlike.LABELS:
            continue  # `unlike_cpus` and `isolated` say more of them
        yield Finding(
            name="cpus",
            what=shared.what,
            effect=shared.effect,
            fix="use a machine with 4 or more cores",
            points=points.get(shared, 10),
        )


def unlike_cpus(facts: Facts) -> Iterator[Finding]:
    """P and E cores, big and little ones."""
    kinds = facts.topology.kinds
    if len(kinds) < 2:
        return
    usual = place(facts.topology)
    mixed = UNLIKE in usual.shared
    also = f"; a server of {len(usual.server)} threads has several kinds" if mixed else ""
    most = max(len({cpu.core for cpu in cpus}) for cpus in kinds)
    yield Finding(
        name="unlike CPUs",
        what=f"CPUs are not alike: {unlike.machine(facts.topology)}{also}",
        effect="a thread is as fast as its CPU. The lab gives a server CPUs of one kind if a kind "
        "has enough, and the same kinds to all runs of a study",
        fix=f"give the service fewer than {most} threads, or name its CPUs (knobs.cpuset)",
        points=10 if mixed else 3,
    )


def isolated(facts: Facts) -> Iterator[Finding]:
    """CPUs that the kernel leaves alone: good for pinned threads only."""
    cpus = tuple(cpu.id for cpu in facts.topology.usable if cpu.is_isolated)
    if cpus:
        partly = PARTLY_ISOLATED in place(facts.topology).shared
        yield Finding(
            name="isolated CPUs",
            what=f"CPU {cpu_text(cpus)} isolated (isolcpus)"
            + ("; a server's threads need others beside them" if partly else ""),
            effect="the lab puts pinned servers there. The kernel moves no thread between isolated "
            'CPUs, so a server that is not pinned (pin = "none", your own service) uses only one',
            fix="give such a service a worker to pin, or one CPU (taskset)",
            points=5 if partly else 0,
        )


def limited(facts: Facts) -> Iterator[Finding]:
    """A shell that may use fewer CPUs than there are: by `taskset`, or by a cpuset."""
    topology = facts.topology
    usable = {cpu.id for cpu in topology.usable}
    left = tuple(sorted({*topology.nameable} - usable))
    barred = tuple(cpu.id for cpu in topology.cpus if cpu.id not in topology.nameable)
    if left:
        yield Finding(
            name="limited shell",
            what=f"this shell is limited to CPU {cpu_text(tuple(usable))} (taskset); CPU "
            f"{cpu_text(left)} could be had",
            effect="server, client and lab are placed within the limit",
            fix=f"taskset -pc {cpu_text(topology.nameable)} $$, or name CPUs with knobs.cpuset",
            points=0,
        )
    if barred:
        yield Finding(
            name="cpuset",
            what=f"a cpuset keeps this program from CPU {cpu_text(barred)}",
            effect="others may use the caches and the memory of these CPUs",
            fix="start the container without --cpuset-cpus, if they are meant to be used",
            points=0,
        )


def quota(facts: Facts) -> Iterator[Finding]:
    """CPU bandwidth control stops the whole group when its quota is used up."""
    cpus, limit = len(facts.topology.allowed), facts.cgroup.cpu_quota
    if limit is not None and limit < cpus:
        yield Finding(
            name="quota",
            what=f"the control group may use {limit:g} of {cpus} CPUs",
            effect="server and client are stopped together for up to 100 ms when it is used up",
            fix="lift cpu.max, or start the container without --cpus",
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
            fix="sudo cpupower frequency-set -g performance",
            points=15,
        )
    if facts.power.turbo:
        intel = facts.power.driver.startswith("intel")
        path = "intel_pstate/no_turbo" if intel else "cpufreq/boost"
        yield Finding(
            name="turbo",
            what="turbo is on",
            effect="speed depends on temperature and on what other cores do",
            fix=f"echo {int(intel)} | sudo tee /sys/devices/system/cpu/{path}",
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
            fix=f"sudo cpupower idle-set -D {EXIT_US_MAX}",
            points=12,
        )


def hyper_threads(facts: Facts) -> Iterator[Finding]:
    """Siblings that share a core."""
    if any(len(cpu.siblings) > 1 for cpu in facts.topology.cpus):
        yield Finding(
            name="hyper-threads",
            what="cores have hyper-threads",
            effect="what runs on a server's sibling slows the server; the lab leaves those of its "
            f"server idle (CPU {cpu_text(place(facts.topology).server)}), others may not",
            fix="echo off | sudo tee /sys/devices/system/cpu/smt/control",
            points=3,
        )
