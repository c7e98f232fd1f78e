"""A core for itself: a neighbour on one or both hyper-threads of a core that no one else has."""

from __future__ import annotations

from collections.abc import Collection

from sojourn.actors.actor import Role, Stage
from sojourn.actors.kind import WHERE
from sojourn.errors import AbsentFault, RunFault
from sojourn.host import Facts
from sojourn.host.topology import Topology

CORE, PAIR = "core", "pair"
COPIES = {CORE: 1, PAIR: 2}  # of the neighbour, by its `where`


def threads(topology: Topology, taken: Collection[int]) -> tuple[int, ...]:
    """The hyper-threads of the first core that has several, none of them taken; () if none has."""
    usable = {cpu.id for cpu in topology.usable}
    for cpu in topology.usable:
        siblings = tuple(one for one in cpu.siblings if one in usable)
        if len(siblings) > 1 and {*cpu.siblings}.isdisjoint(taken):
            return siblings
    return ()


def check(where: str, facts: Facts) -> None:
    """Refuse a core for itself where there is none.

    Raises:
        AbsentFault: this machine has no core of two hyper-threads beside that of the client.
    """
    cores = {cpu.core for cpu in facts.topology.usable}
    if where not in COPIES or (len(cores) > 1 and threads(facts.topology, ())):
        return
    cpus = len(facts.topology.usable)
    raise AbsentFault(
        f"hyper-threads: where = {where} takes a core that has two of them, beside the client's; "
        f"this machine has {cpus} CPU{'s' * (cpus > 1)} of {len(cores)} cores",
        at=f"neighbour, {WHERE} = {where}",
        fix="switch them on (/sys/devices/system/cpu/smt/control), or take a machine that has them",
    )


def cpus_of(where: str, stage: Stage) -> tuple[int, ...]:
    """The CPUs of its copies.

    Raises:
        RunFault: client, server and lab left no core for it.
    """
    taken = {*stage.cpus[Role.CLIENT], *stage.cpus[Role.PROBE]}
    if any(one.process for one in stage.services.values()):
        taken |= {*stage.cpus[Role.SERVICE]}
    numbers = threads(stage.facts.topology, taken)
    if not numbers:
        raise RunFault(
            f"where = {where}: client, server and lab leave no core of two hyper-threads",
            at=f"they have CPUs {', '.join(map(str, sorted(taken)))}",
            fix="give the server fewer threads, or take a machine with more cores",
        )
    return numbers[: COPIES[where]]
