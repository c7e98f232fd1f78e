"""Clients: how the load of a point is parted among generator processes.

A study says how many: `clients = 4` in a service's table. 1 is `one`, more are `many`, 0 is `null`.

`merged` is loaded when it is asked for, because histograms are numpy's.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sojourn import kinds, late
from sojourn.actors.clients import many, null, one
from sojourn.actors.clients.client import ClientKind, Job
from sojourn.actors.clients.many import numbered

if TYPE_CHECKING:
    from sojourn.actors.clients.merge import merged

#: Every kind of client, in reading order.
KINDS = kinds.table(
    null.KIND,
    one.KIND,
    many.KIND,
)

__all__ = ["KINDS", "ClientKind", "Job", "chosen", "facts", "merged", "numbered"]

__getattr__ = late.names(__name__, {"merge": ["merged"]})


def facts(n: int, cpus: Collection[int]) -> tuple[tuple[str, str], ...]:
    """What people should know of `n` clients, beside what served; nothing of one.

    Args:
        n: processes.
        cpus: the clients', together.
    """
    if n == 1:
        return ()
    if n == 0:
        return (("clients", "none: the load went nowhere"),)
    text = f"{n} processes, each with its share of connections, threads and rate"
    if len(cpus) < n:
        text += f"; they share {len(cpus)} CPU{'s' * (len(cpus) > 1)}, where they take turns"
    return (("clients", text),)


def chosen(n: int) -> ClientKind:
    """The kind that offers load from `n` processes.

    >>> [chosen(n).name for n in (0, 1, 4)]
    ['null', 'one', 'many']
    """
    return KINDS["null" if n == 0 else "one" if n == 1 else "many"]
