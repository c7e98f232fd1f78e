"""The CPUs that a neighbour runs on, and so how many copies of it there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sojourn.actors.actor import Role
from sojourn.actors.kind import WHERE
from sojourn.actors.neighbours import core
from sojourn.services.params import Param

SERVER, CLIENT, LAB, FREE, ONE = "server", "client", "lab", "free", "one"
APART = "apart"
ROLES = {
    **dict.fromkeys(core.COPIES, Role.NEIGHBOUR),  # which `core` finds
    SERVER: Role.SERVICE,
    CLIENT: Role.CLIENT,
    LAB: Role.PROBE,
    FREE: Role.NEIGHBOUR,
    ONE: Role.SERVICE,
    APART: Role.NEIGHBOUR,
}


def where_param(default: str) -> Param:
    """The parameter that says on whose CPUs a neighbour runs."""
    about = "CPUs it runs on; free: unused ones, or else the server's; "
    about += "one: the first of the server's; apart: unused ones, refused if there are none; "
    about += "core: a hyper-thread of an unused core; pair: two of them"
    return Param(name=WHERE, about=about, default=default, type=str, choices=tuple(ROLES))


def copies(where: str, cpus: Mapping[Role, Sequence[int]]) -> int:
    """How many tasks there are of a neighbour, by the CPUs of each role.

    >>> cpus = {Role.SERVICE: (1, 2), Role.NEIGHBOUR: ()}
    >>> [copies(where, cpus) for where in ("server", "one", "free", "pair")]
    [2, 1, 2, 2]
    """
    if where in core.COPIES:
        return core.COPIES[where]
    return 1 if where == ONE else len(cpus[ROLES[where]] or cpus[Role.SERVICE])
