"""All facts of a machine in one value, and the same as JSON (M25)."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.host import (
    activity,
    cgroups,
    grouping,
    kernel,
    memory,
    network,
    power,
    rights,
    tools,
    topology,
)
from sojourn.host.activity import Activity
from sojourn.host.cgroups import Cgroup
from sojourn.host.grouping import Grouping
from sojourn.host.kernel import Kernel
from sojourn.host.memory import Memory
from sojourn.host.network import Network
from sojourn.host.power import Power
from sojourn.host.rights import Rights
from sojourn.host.topology import Topology
from sojourn.host.tree import Tree

SCHEMA = "sojourn.manifest/1"
SAMPLE_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A machine, as it was read.

    Attributes:
        root: "/" for this machine; else the fake it was read from.
        name: of the machine in the network; results are kept by it.
        tools: (program or library, version).
        grouping: how the scheduler groups the lab, and what it starts if nothing is done about it.
        commit: of the checkout, "+" if it was changed; "" if there is none.
    """

    root: str
    name: str
    topology: Topology
    memory: Memory
    kernel: Kernel
    power: Power
    cgroup: Cgroup
    network: Network
    rights: Rights
    activity: Activity
    tools: tuple[tuple[str, str], ...]
    commit: str
    grouping: Grouping


def read(root: Path = Path("/"), *, sample_s: float = SAMPLE_S, has_versions: bool = True) -> Facts:
    """Read the facts of a machine. Nothing is changed.

    Args:
        root: below which /sys, /proc and /etc lie; tests hand in a fake.
        sample_s: how long to watch steal and busy processes.
        has_versions: ask programs and the checkout for their versions; a record needs them.
    """
    tree = Tree(root)
    is_asked = tree.is_live and has_versions
    group = cgroups.read(tree)
    cpus = topology.read(tree)
    return Facts(
        root=str(root),
        name=os.uname().nodename if tree.is_live else root.name,
        topology=cpus,
        memory=memory.read(tree, group),
        kernel=kernel.read(tree),
        power=power.read(tree, tuple(cpu.id for cpu in cpus.usable)),
        cgroup=group,
        network=network.read(tree),
        rights=rights.read(tree),
        activity=activity.read(tree, sample_s),
        tools=tools.versions() if is_asked else (),
        commit=tools.checkout() if is_asked else "",
        grouping=grouping.read(tree),
    )


def manifest(facts: Facts) -> dict[str, Any]:
    """Everything, as JSON values (M25); stored with every result."""
    return {"schema": SCHEMA, **_plain(dataclasses.asdict(facts))}


def _plain(value: Any) -> Any:
    """Tuples of pairs that start with a name become objects; other tuples become lists."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        if value and all(_is_named(part) for part in value):
            return {part[0]: _plain(part[1]) for part in value}
        return [_plain(part) for part in value]
    return value


def _is_named(part: Any) -> bool:
    return isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str)
