"""What server, client and lab share on a small machine, and what that does to the numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Something that two parties share, and what that does to the numbers."""

    what: str
    effect: str


KINDS_OF_CPU = "kinds of CPU"  # of a run's facts, where the machine has several
MACHINE, KERNEL = "machine", "kernel"  # of a run's facts, where it served on another host
SERVERS = "servers in turn"  # of a service's facts, where several hosts had it under one name

ONE_CPU = Shared(
    what="server, client and lab share one CPU",
    effect="latency contains the client's own work and the scheduler's choices. Peak load is that "
    "of server and client together: compare runs on this machine only",
)
ONE_CORE = Shared(
    what="server and client are hyper-threads of one core",
    effect="the client takes execution units and cache from the server. Latency is higher and peak "
    "load lower than the server's own, by up to a half",
)
CLIENT_WITH_LAB = Shared(
    what="client and lab share a CPU",
    effect="when the lab or the machine's own tasks run, the client stops. The log has it as an "
    "outage, and its requests are excluded. If four in five are, the point is unknown",
)
LAB_ON_SIBLING = Shared(
    what="the lab runs on the client's hyper-thread sibling",
    effect="send lag rises a little while the lab works; it is reported with every point",
)
TWO_NODES = Shared(
    what="server threads lie on more than one NUMA node",
    effect="some memory is remote for every thread: latency depends on which thread serves",
)
FAR_CLIENT = Shared(
    what="the client is on another NUMA node than the server",
    effect="loopback's receive path runs remotely: about a microsecond more on every request",
)
NOT_OURS = Shared(
    what="the service may run on the CPUs of the client or the lab, and is not pinned by the lab",
    effect="latency contains their work and the scheduler's choices; `taskset -p` on the service "
    "keeps it to CPUs of its own",
)
ELSEWHERE = Shared(
    what="where the service runs cannot be seen from here",
    effect="who else uses its CPUs is not known; latency contains the network between",
)
BY_STUDY = Shared(
    what="the study puts the server where the client or the lab runs",
    effect="latency contains their work and the scheduler's choices: compare such runs with each "
    "other only",
)
UNLIKE = Shared(
    what="the server has CPUs of unlike kinds",
    effect="a thread is as fast as its CPU, so the tail is that of the slow CPUs. How throughput "
    "grows with threads depends on the CPUs as much as on the service",
)
UNLIKE_CLIENT = Shared(
    what="the client has CPUs of another kind than the server",
    effect="its own share of each request takes another time than on a CPU like the server's: "
    "compare runs with this placement only",
)
PARTLY_ISOLATED = Shared(
    what="only some of the server's CPUs are isolated (isolcpus)",
    effect="threads on the others are disturbed more, so the tail depends on which thread serves",
)
UNBALANCED = Shared(
    what="the server's threads are not pinned, and its CPUs are isolated (isolcpus)",
    effect="the kernel moves no thread between isolated CPUs: all of them stay on the CPU where "
    "they started, however many CPUs the service has",
)
