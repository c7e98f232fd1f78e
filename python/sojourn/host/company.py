"""Who runs where when several services are measured at once: no client on anybody's server.

Each service has its CPUs as if it were alone, so one server may have those of another: that is what
services do to each other. But the client of one must not be on the server's CPUs of another. It
would take time there that no service took, and the tail would be longer by the instrument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sojourn.host.placement import Placement
from sojourn.host.topology import Cpu, Topology


def apart(alone: Mapping[str, Placement], topology: Topology) -> dict[str, Placement]:
    """The same with clients off all servers; where no CPU is left for them they stay.

    CPUs of cores on which nothing serves come first, then the lab's, then siblings of servers; of
    these, those that no other client has.

    Args:
        alone: where each service and its client run by themselves, by label.
        topology: of this machine.
    """
    servers = {cpu for where in alone.values() for cpu in where.server}
    fine = {label: where for label, where in alone.items() if servers.isdisjoint(where.client)}
    taken = {cpu for where in fine.values() for cpu in where.client}
    free = [cpu for cpu in topology.usable if cpu.id not in servers]
    cores = {cpu.core for cpu in topology.usable if cpu.id in servers}
    placements = {}
    for label, where in alone.items():
        rank = {cpu.id: _rank(cpu, cores, where) for cpu in free}
        best = [cpu for cpu in rank if rank[cpu] == min(rank.values())]
        best.sort(key=lambda cpu: (cpu in taken, cpu))
        is_fine = label in fine or not best
        client = where.client if is_fine else tuple(sorted(best[: len(where.client)]))
        taken |= {*client}
        placements[label] = replace(where, client=client)
    return placements


def _rank(cpu: Cpu, cores: set[int], where: Placement) -> tuple[bool, bool, bool]:
    """How bad a client is there: on a server's core, with the lab, on a second thread."""
    return cpu.core in cores, cpu.id in where.housekeeping, cpu.id != cpu.core
