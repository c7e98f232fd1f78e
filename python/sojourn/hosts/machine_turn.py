"""A client's machine is one study's at a time, as the lab's own is. Pure.

The turn is that of `run.turn`. While load runs, the first client of each machine holds it for all
of them. The lab and the stages of a study hold their own machines throughout.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sojourn.hosts.engine import Facts
from sojourn.hosts.parts import is_same_machine, machine_of


def holders(clients: Sequence[Facts], held: Iterable[Facts]) -> frozenset[int]:
    """The clients, from 0, that hold their machines.

    Args:
        clients: facts of the host of each.
        held: facts of hosts that the study holds already.

    >>> a, b, c = ({"boot": boot} for boot in "abc")
    >>> sorted(holders([a, b, b, c, a], [c]))
    [0, 1]
    """
    others = list(held)
    first: dict[str, int] = {}
    for nth, facts in enumerate(clients):
        first.setdefault(machine_of(facts, nth), nth)
    return frozenset(
        nth
        for nth in first.values()
        if not any(is_same_machine(clients[nth], other) for other in others)
    )
