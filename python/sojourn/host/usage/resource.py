"""Every resource whose use is recorded: its name in files, its unit, and what exactly is counted.

Adding one is a line here and what counts it in `rates`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NAME, FORM = "resources.json", "sojourn.resources/1"  # the file in a point's folder
SHARE, SECONDS, PER_S, BYTES, BYTES_PER_S = "share", "s/s", "1/s", "bytes", "bytes/s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource.

    Attributes:
        name: in files, tables and SQL; ends with what its unit is of.
        title: for people.
        unit: "share" of what `about` names, 0 to 1; "s/s"; "1/s"; "bytes"; "bytes/s".
        about: what is counted, in a sentence.
        is_part: of another that stands before it: drawn with it, never judged by itself.
    """

    name: str
    title: str
    unit: str
    about: str
    is_part: bool = False


RESOURCES = (
    Resource(
        name="service_cpu_share",
        title="CPU of the service",
        unit=SHARE,
        about="CPU time of all its processes and threads, of the time of its CPUs",
    ),
    Resource(
        name="service_user_share",
        title="CPU of the service, user",
        unit=SHARE,
        about="the part of it in its own code",
        is_part=True,
    ),
    Resource(
        name="service_system_share",
        title="CPU of the service, system",
        unit=SHARE,
        about="the part of it in the kernel",
        is_part=True,
    ),
    Resource(
        name="thread_cpu_share_max",
        title="busiest thread",
        unit=SHARE,
        about="CPU time of the service's thread that used most, of the time of one CPU",
    ),
    Resource(
        name="runq_delay_share",
        title="run-queue delay",
        unit=SECONDS,
        about="time that its threads were ready and waited for a CPU, all together, s each second",
    ),
    Resource(
        name="switches_voluntary_per_s",
        title="voluntary switches",
        unit=PER_S,
        about="times that a thread of it gave up its CPU, to wait",
    ),
    Resource(
        name="switches_involuntary_per_s",
        title="involuntary switches",
        unit=PER_S,
        about="times that a thread of it was taken off its CPU while it had work",
    ),
    Resource(
        name="server_busy_share",
        title="its CPUs, busy",
        unit=SHARE,
        about="time in which the service's CPUs ran anything, interrupts included",
    ),
    Resource(
        name="server_steal_share",
        title="its CPUs, stolen",
        unit=SHARE,
        about="time of the service's CPUs that the hypervisor gave to somebody else",
    ),
    Resource(
        name="machine_busy_share",
        title="CPU of the machine",
        unit=SHARE,
        about="time in which any of the machine's CPUs ran anything, clients included",
    ),
    Resource(
        name="machine_steal_share",
        title="CPU of the machine, stolen",
        unit=SHARE,
        about="time of the machine's CPUs that the hypervisor gave to somebody else",
    ),
    Resource(
        name="llc_bytes",
        title="last-level cache",
        unit=BYTES,
        about="bytes of the last-level cache that it holds (resctrl)",
    ),
    Resource(
        name="memory_bytes_per_s",
        title="memory bandwidth",
        unit=BYTES_PER_S,
        about="bytes that it moves between memory and the last-level cache (resctrl)",
    ),
    Resource(
        name="network_rx_bytes_per_s",
        title="network, received",
        unit=BYTES_PER_S,
        about="bytes that arrived in its network namespace, or on loopback where it has none; of a "
        "guest, on its tap",
    ),
    Resource(
        name="network_tx_bytes_per_s",
        title="network, sent",
        unit=BYTES_PER_S,
        about="bytes that left it, counted likewise",
    ),
    Resource(
        name="network_rx_packets_per_s",
        title="packets, received",
        unit=PER_S,
        about="packets that arrived, as the interface counts them (after offloads)",
    ),
    Resource(
        name="network_tx_packets_per_s",
        title="packets, sent",
        unit=PER_S,
        about="packets that left, counted likewise",
    ),
    Resource(
        name="disk_read_bytes_per_s",
        title="disk, read",
        unit=BYTES_PER_S,
        about="bytes that it had fetched from storage; of a guest, from its storage node, with the "
        "protocol's headers and acknowledgements",
    ),
    Resource(
        name="disk_write_bytes_per_s",
        title="disk, written",
        unit=BYTES_PER_S,
        about="bytes that it had sent to storage; of a guest, counted likewise",
    ),
    Resource(
        name="resident_bytes",
        title="resident memory",
        unit=BYTES,
        about="pages of it in memory; those that processes share count for each",
    ),
    Resource(
        name="major_faults_per_s",
        title="major faults",
        unit=PER_S,
        about="page faults for which something was read from disk",
    ),
)

BY_NAME: Mapping[str, Resource] = {resource.name: resource for resource in RESOURCES}
