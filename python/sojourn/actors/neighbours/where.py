"""On whose CPUs a neighbour runs: those of a role, or a core that nobody has, for itself."""

from __future__ import annotations

from collections.abc import Collection

from sojourn.actors.actor import Role, Stage
from sojourn.actors.kind import WHERE
from sojourn.errors import AbsentFault, RunFault
from sojourn.host import Facts
from sojourn.host.topology import Topology
from sojourn.services.params import Param

SERVER, CLIENT, LAB, FREE, ONE = "server", "client", "lab", "free", "one"
CORE, PAIR = "core", "pair"
_ROLES = {
    SERVER: Role.SERVICE,
    CLIENT: Role.CLIENT,
    LAB: Role.PROBE,
    FREE: Role.NEIGHBOUR,
    ONE: Role.SERVICE,
}
_THREADS = {CORE: 1, PAIR: 2}  # copies on a core that nobody else has


def where_param(default: str) -> Param:
    """The parameter that says on whose CPUs a neighbour runs."""
    about = "whose CPUs it runs on; free: those of nobody, or else the server's; "
    about += "one: the first of the server's; core: one hyper-thread of a core that nobody has; "
    about += "pair: both of them"
    return Param(
        name=WHERE, about=about, default=default, type=str, choices=(*_ROLES, *_THREADS)
    )  # fmt: skip


def core_of(topology: Topology, taken: Collection[int]) -> tuple[int, ...]:
    """The hyper-threads of the first core of two or more, of which nobody has any; () if none."""
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
    if where not in _THREADS:
        return
    cores = {cpu.core for cpu in facts.topology.usable}
    if len(cores) > 1 and core_of(facts.topology, ()):
        return
    raise AbsentFault(
        f"where = {where} takes a core with two hyper-threads beside the client's, and this "
        f"machine has {len(facts.topology.usable)} CPUs of {len(cores)} cores",
        at=f"neighbour, {WHERE} = {where}",
        fix="switch hyper-threads on (/sys/devices/system/cpu/smt/control), or run it elsewhere",
    )


def cpus_of(where: str, stage: Stage) -> tuple[int, ...]:
    """Its CPUs, one for each of its tasks.

    Raises:
        RunFault: client and lab left no core for it.
    """
    if where not in _THREADS:
        cpus = stage.cpus[_ROLES[where]] or stage.cpus[Role.SERVICE]
        return cpus[:1] if where == ONE else cpus
    taken = {*stage.cpus[Role.CLIENT], *stage.cpus[Role.PROBE]}
    if any(one.process for one in stage.services.values()):
        taken |= {*stage.cpus[Role.SERVICE]}
    found = core_of(stage.facts.topology, taken)
    if not found:
        raise RunFault(
            f"where = {where}: client, server and lab leave no core of two hyper-threads",
            at=f"they have CPUs {', '.join(map(str, sorted(taken)))}",
            fix="give the server fewer threads, or take a machine with more cores",
        )
    return found[: _THREADS[where]]
