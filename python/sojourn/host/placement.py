"""Which CPUs the server, the client and everything else get.

The rules, in order of weight:

1. A server thread has a physical core to itself: one logical CPU per core, the sibling idle (C3).
   All of them are of one kind, the most capable that has as many, and isolated where so many are.
2. The client is on no server CPU and on no sibling of one: it would take the server's cycles.
3. The lab and the machine's own business get the lowest CPU's core: most interrupts land there.
4. Server and client are on one NUMA node where they fit. On loopback the client's CPU runs the
   receive path of the server's socket, so a far client would put a remote access into every
   request; in return it shares the server's last-level cache, and streams a few MB/s through it.

Where there are too few CPUs the rules give way from the last to the first, and the placement says
which, and what that does to the numbers. With two CPUs the lab sits with the client: what it takes
from the client is logged as an outage and excluded (M27); what it took from the server could not be
told from the server's own latency.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from sojourn.errors import HostFault
from sojourn.host import unlike
from sojourn.host.shared import (
    BY_STUDY,
    CLIENT_WITH_LAB,
    ELSEWHERE,
    FAR_CLIENT,
    LAB_ON_SIBLING,
    NOT_OURS,
    ONE_CORE,
    ONE_CPU,
    TWO_NODES,
    UNBALANCED,
    Shared,
)
from sojourn.host.topology import Cpu, Topology
from sojourn.host.tree import cpu_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Who runs where.

    Attributes:
        server, client, housekeeping: logical CPUs, ascending; no server: it is not known where.
        client_wait: "spin" if the client may keep its CPUs busy, else "sleep".
        shared: what is shared, worst first; empty on a machine with CPUs enough.
        kinds: of CPUs, of server and client, for people; "" where all CPUs are alike.
        ranks: the same as numbers, of "server" and "client".
    """

    server: tuple[int, ...]
    client: tuple[int, ...]
    housekeeping: tuple[int, ...]
    client_wait: str
    shared: tuple[Shared, ...]
    kinds: str = ""
    ranks: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def text(self) -> str:
        """Which CPUs server, client and all else have, in one line for people."""
        server = f"server on CPU {cpu_text(self.server)}" if self.server else "server elsewhere"
        return (
            f"{server}, client on CPU {cpu_text(self.client)}, "
            f"everything else on CPU {cpu_text(self.housekeeping)}"
        )


Core: TypeAlias = tuple[Cpu, ...]


def place(
    topology: Topology, *, threads: int = 7, clients: int = 1, widest: tuple[int, int] = (0, 0)
) -> Placement:
    """Choose CPUs by affinity.

    Args:
        topology: of this machine.
        threads: CPUs the server would like; C4 has 7.
        clients: CPUs the client would like.
        widest: most (threads, clients) that any run of the study has: all of its runs get CPUs of
            the kinds that these need, because runs on unlike CPUs cannot be compared.
    """
    cores = _cores(topology)
    if len(cores) == 1:
        return _on_one_core(cores[0])
    if len(cores) == 2:  # the last rule that can be stored: a core each
        return labelled(_on_two_cores(cores), topology)
    return labelled(_on_many(cores, threads, clients, widest), topology)


def labelled(where: Placement, topology: Topology) -> Placement:
    """The same with what is to be reported about CPUs that are not alike, as they are now."""
    selected = tuple(one for one in where.shared if one not in unlike.LABELS)
    return replace(
        where,
        shared=(*selected, *unlike.labels(where.server, where.client, topology)),
        kinds=unlike.text(where.server, where.client, topology),
        ranks=unlike.ranks(where.server, where.client, topology),
    )


def unpinned(where: Placement, topology: Topology) -> Placement:
    """The same for a service whose threads no one pins: isolated CPUs are one CPU to it."""
    isolated = {cpu.id for cpu in topology.cpus if cpu.is_isolated}
    if len(where.server) < 2 or isolated.isdisjoint(where.server):
        return where
    return replace(where, shared=(UNBALANCED, *where.shared))


def joined(where: Placement, its: tuple[int, ...], usable: Collection[int]) -> Placement:
    """Who runs where beside a service that runs already: the client and the lab give way.

    Args:
        where: as the rules have it for a service that is started.
        its: CPUs on which it may run; () where that cannot be seen.
        usable: all CPUs of the machine.
    """
    if not its:
        return replace(where, server=(), shared=(ELSEWHERE,))
    placement = confine(where, its, usable)
    return replace(
        placement, shared=tuple(NOT_OURS if one is BY_STUDY else one for one in placement.shared)
    )


def confine(where: Placement, server: tuple[int, ...], usable: Collection[int]) -> Placement:
    """The same with the server on CPUs that the study names; the others give way where they can.

    Args:
        where: as the rules have it.
        server: CPUs of the server, at least one.
        usable: all CPUs of the machine.
    """
    free = {*usable} - {*server}
    client = tuple(cpu for cpu in where.client if cpu in free) or tuple(
        sorted(free - {*where.housekeeping} or free)[:1]
    )
    house = tuple(cpu for cpu in where.housekeeping if cpu in free) or client
    if not client:
        client, house = where.client, where.housekeeping
    is_apart = {*server}.isdisjoint({*client, *house})
    return Placement(
        server=server,
        client=client,
        housekeeping=house,
        client_wait=where.client_wait if {*server}.isdisjoint(client) else "sleep",
        shared=where.shared if is_apart else (BY_STUDY, *where.shared),
    )


def lay_out(where: Placement, topology: Topology, cores: int, cpus: int, *, at: str) -> Placement:
    """The same with the server on so many CPUs of so many cores, siblings core by core (C21).

    Args:
        where: as the rules have it for that many threads.
        topology: of this machine.
        cores: physical cores of the server.
        cpus: logical CPUs of the server, at least one a core.
        at: key of the study, for messages.

    Raises:
        HostFault: there are not that many beside the client.
    """
    if len(where.server) < cores:
        raise HostFault(
            f"the server needs {cores} cores; available here: {len(where.server)}",
            at=at,
            fix=f"give {len(where.server)} or fewer, or take a machine with more cores",
        )
    of = {cpu.id: cpu.siblings for cpu in topology.usable}
    free = {*of} - {*where.client} - {*where.server}
    more = [one for cpu in where.server[:cores] for one in of[cpu] if one in free]
    if cores + len(more) < cpus:
        raise HostFault(
            f"{cpus} CPUs of {cores} cores need hyper-threads; available: {cores + len(more)}",
            at=at,
            fix=f'give "{cores}" for a CPU each, turn SMT on, or take a machine that has it',
        )
    server = tuple(sorted((*where.server[:cores], *more[: cpus - cores])))
    house = tuple(cpu for cpu in where.housekeeping if cpu not in server) or where.client
    return replace(where, server=server, housekeeping=house)


def _cores(topology: Topology) -> tuple[Core, ...]:
    """Usable CPUs by physical core; the core of the lowest CPU first."""
    usable = sorted(topology.usable, key=lambda cpu: (cpu.core, cpu.id))
    return tuple(tuple(group) for _, group in groupby(usable, key=lambda cpu: cpu.core))


def _on_one_core(core: Core) -> Placement:
    ids = tuple(cpu.id for cpu in core)
    if len(ids) == 1:
        return Placement(
            server=ids, client=ids, housekeeping=ids, client_wait="sleep", shared=(ONE_CPU,)
        )
    return Placement(
        server=(ids[1],),
        client=(ids[0],),
        housekeeping=(ids[0],),
        client_wait="sleep",  # a spinning sibling would halve the server's core
        shared=(ONE_CORE, CLIENT_WITH_LAB),
    )


def _on_two_cores(cores: tuple[Core, ...]) -> Placement:
    first, second = sorted(cores, key=lambda core: (-_kind(core), core[0].is_isolated))
    has_sibling = len(first) > 1
    far = () if first[0].node == second[0].node else (FAR_CLIENT,)
    return Placement(
        server=(second[0].id,),
        client=(first[0].id,),
        housekeeping=(first[-1].id,),
        client_wait="spin",
        shared=((LAB_ON_SIBLING if has_sibling else CLIENT_WITH_LAB), *far),
    )


def _on_many(
    cores: tuple[Core, ...], threads: int, clients: int, widest: tuple[int, int]
) -> Placement:
    house = next((core for core in cores if not core[0].is_isolated), cores[0])
    free = [core for core in cores if core is not house]
    clients = max(1, min(clients, len(free) - 1))
    threads = max(1, min(threads, len(free) - clients))
    most = max(threads, min(widest[0], len(free) - clients))
    pool = _alike(free, most)
    is_shared = len(pool) >= most + max(clients, widest[1])
    server = _nearest_first(pool, threads + clients if is_shared else threads)[:threads]
    nodes = {core[0].node for core in server}
    rest = [core for core in free if core not in server]
    spared = () if is_shared else pool  # so that the client's kind is that of the widest run
    rest.sort(
        key=lambda core: (
            core in spared,
            _kind(core) != _kind(server[0]),
            _kind(core),
            core[0].node not in nodes,
            not core[0].is_isolated,
            core[0].id,
        )
    )
    client = rest[:clients]
    shared = []
    if len(nodes) > 1:
        shared.append(TWO_NODES)
    elif any(core[0].node not in nodes for core in client):
        shared.append(FAR_CLIENT)
    return Placement(
        server=tuple(sorted(core[0].id for core in server)),
        client=tuple(sorted(core[0].id for core in client)),
        housekeeping=tuple(sorted(cpu.id for cpu in house)),
        client_wait="spin",
        shared=tuple(shared),
    )


def _kind(core: Core) -> int:
    return core[0].capacity.kind


def _alike(free: Sequence[Core], wanted: int) -> list[Core]:
    """Cores for a server: of one kind, the most capable that has as many; isolated ones likewise.

    Where no kind has as many, all of them, the most capable first.
    """
    kinds = sorted({_kind(core) for core in free})
    each = ([core for core in free if _kind(core) == kind] for kind in kinds)
    pool = next((cores for cores in each if len(cores) >= wanted), list(free))
    isolated = [core for core in pool if core[0].is_isolated]
    return isolated if len(isolated) >= wanted else pool


def _nearest_first(free: list[Core], wanted: int) -> list[Core]:
    """Order cores so that the first `wanted` lie on as few nodes as can be, capable ones first."""
    size = {core[0].node: 0 for core in free}
    for core in free:
        size[core[0].node] += 1

    def rank(core: Core) -> tuple[int, bool, int, int, bool, int]:
        node = core[0].node
        is_short = size[node] < wanted
        # Among nodes that hold everything the lowest; among those that do not the largest.
        order = (is_short, -size[node] if is_short else 0, node)
        return (_kind(core), *order, not core[0].is_isolated, core[0].id)

    return sorted(free, key=rank)
