"""What is to be said of a placement on CPUs that are not alike: kinds of core, isolated or not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sojourn.host.capacity import FULL
from sojourn.host.shared import KINDS_OF_CPU, PARTLY_ISOLATED, UNLIKE, UNLIKE_CLIENT, Shared
from sojourn.host.topology import Cpu, Topology
from sojourn.host.tree import cpu_text

_KIND = re.compile(r"of kind (\d+)")
LABELS = (UNLIKE, UNLIKE_CLIENT, PARTLY_ISOLATED)


def labels(
    server: Collection[int], client: Collection[int], topology: Topology
) -> tuple[Shared, ...]:
    """Which of `LABELS` hold for these CPUs, worst first; CPUs that are offline do not count."""
    serving, asking = _cpus(server, topology), _cpus(client, topology)
    kinds = {cpu.capacity.kind for cpu in serving}
    results = []
    if len(kinds) > 1:
        results.append(UNLIKE)
    elif kinds and kinds != {cpu.capacity.kind for cpu in asking}:
        results.append(UNLIKE_CLIENT)
    if len({cpu.is_isolated for cpu in serving}) > 1:
        results.append(PARTLY_ISOLATED)
    return tuple(results)


def text(server: Collection[int], client: Collection[int], topology: Topology) -> str:
    """Kinds of the CPUs of both, for people; "" where all CPUs of the machine are alike."""
    if len({cpu.capacity.kind for cpu in topology.cpus}) < 2:
        return ""
    both = (("server", server), ("client", client))
    return "; ".join(f"{who}: {_counted(_cpus(cpus, topology))}" for who, cpus in both if cpus)


def ranks(
    server: Collection[int], client: Collection[int], topology: Topology
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The kinds of CPU that each of both has, ascending; () where all CPUs are alike."""
    if len({cpu.capacity.kind for cpu in topology.cpus}) < 2:
        return ()
    both = (("server", server), ("client", client))
    return tuple(
        (who, tuple(sorted({cpu.capacity.kind for cpu in _cpus(cpus, topology)})))
        for who, cpus in both
        if cpus
    )


def stored(facts: Mapping[str, Any]) -> frozenset[tuple[str, int]]:
    """Who had which kinds, by `service.json`; records of before have them only in a text.

    >>> old = {"setup": [["kinds of CPU", "server: 2 of kind 0, 1 of kind 2; client: 1 of kind 1"]]}
    >>> sorted(stored(old))
    [('client', 1), ('server', 0), ('server', 2)]
    >>> new = {"placement": {"cpu_kinds": {"server": [0, 2], "client": [1]}}}
    >>> stored(new) == stored(old), stored({})
    (True, frozenset())
    """
    kinds = (facts.get("placement") or {}).get("cpu_kinds")
    if kinds is not None:
        return frozenset((str(who), int(kind)) for who, of in kinds.items() for kind in of)
    rows = (row for row in facts.get("setup") or () if len(row) > 1 and row[0] == KINDS_OF_CPU)
    both = (part.partition(": ") for row in rows for part in str(row[1]).split("; "))
    return frozenset((who, int(kind)) for who, _, of in both for kind in _KIND.findall(of))


def machine(topology: Topology) -> str:
    """The kinds that can be used, for people: `CPU 7 (1024 of 1024), CPU 0-6 (855 of 1024)`."""
    return ", ".join(
        f"CPU {cpu_text(tuple(cpu.id for cpu in cpus))}{_share(cpus[0])}" for cpus in topology.kinds
    )


def _cpus(wanted: Collection[int], topology: Topology) -> list[Cpu]:
    return [cpu for cpu in topology.cpus if cpu.id in wanted]


def _counted(cpus: Sequence[Cpu]) -> str:
    """How many of each kind: `1 of kind 0 (1024 of 1024), 2 of kind 1 (855 of 1024)`."""
    counted = Counter(cpu.capacity.kind for cpu in cpus)
    firsts = {cpu.capacity.kind: cpu for cpu in reversed(cpus)}
    return ", ".join(
        f"{counted[kind]} of kind {kind}{_share(firsts[kind])}" for kind in sorted(counted)
    )


def _share(cpu: Cpu) -> str:
    return "" if cpu.capacity.share is None else f" ({cpu.capacity.share} of {FULL})"
