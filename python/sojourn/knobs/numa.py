"""The NUMA nodes that a service's memory comes from.

By the controller cpuset: memory that it has is moved over, what it asks for comes from these nodes.
Its CPUs stay as they are (`cpuset` says those). It is measured by a probe in the same group, whose
pages must lie on these nodes; a machine with one node cannot tell.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.host.tree import Tree, cpu_list, cpu_text
from sojourn.knobs import groups
from sojourn.knobs.groups import Group
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack, backwards
from sojourn.knobs.limit import NONE, UNDO, Limit, no_effect
from sojourn.knobs.probe import NODES, Probe

NAME = "numa"
CONTROLLER = "cpuset"
NODE = "/sys/devices/system/node"


class Numa(Limit):
    """The memory nodes of one service."""

    name, controller = NAME, CONTROLLER

    def value(self, level: str) -> tuple[int, ...]:
        """Nodes, ascending; all of them for "none"."""
        return with_memory(self._on.tree) if level == NONE else cpu_list(level)

    def level(self, value: tuple[int, ...]) -> str:
        """Nodes as a kernel list."""
        return cpu_text(value)

    def read_back(self, group: Group) -> tuple[int, ...]:
        """Nodes that the group may use."""
        return cpu_list(group.text("cpuset.mems") or group.text("cpuset.mems.effective"))

    def files(self, value: tuple[int, ...], group: Group) -> Sequence[tuple[str, str]]:
        """Version 2 moves memory that is there already by itself."""
        mems = ("cpuset.mems", cpu_text(value))
        return (("cpuset.memory_migrate", "1"), mems) if group.version == 1 else (mems,)

    def bites(self, value: tuple[int, ...], group: Group) -> Felt:
        """Let a probe touch memory, and see where it lies."""
        if {*value} >= {*with_memory(self._on.tree)}:
            return Felt(holds=None, why="it reads back; there is no other node to compare with")
        with Probe(NODES) as probe:
            groups.put(group.tree, group.folder, probe.pid)
            pages = dict(probe.go().hear().get("pages", {}))
        return judge(value, {int(node): int(count) for node, count in pages.items()})


def judge(wanted: Sequence[int], pages: dict[int, int]) -> Felt:
    """Whether the pages of a probe lie on the nodes that are wanted."""
    if not pages:
        return Felt(holds=None, why="it reads back; the kernel does not say where pages lie")
    strays = sum(count for node, count in pages.items() if node not in wanted)
    text = f"{strays} of {sum(pages.values())} pages of a probe lay on other nodes"
    return no_effect(text) if strays else Felt(holds=True, why=text)


def with_memory(tree: Tree) -> tuple[int, ...]:
    """Nodes that have memory, ascending."""
    return cpu_list(tree.text(f"{NODE}/has_memory") or tree.text(f"{NODE}/online") or "0")


def lacks(asked: Asked) -> Lack | None:
    """The controller, or the nodes."""
    strays = {*cpu_list(asked.level)} - {*with_memory(asked.tree)}
    if asked.level != NONE and strays:
        known = cpu_text(with_memory(asked.tree))
        return Lack(missing=f"node {cpu_text(tuple(strays))}", fix=f"give some of nodes {known}")
    return groups.lacking(asked, CONTROLLER)


KIND = KnobKind(
    name=NAME,
    about="the NUMA nodes that a service's memory comes from",
    level='nodes, such as "0" or "0-1", or "none" (all)',
    pattern=r"none|\d+(-\d+)?(,\d+(-\d+)?)*",
    needs=("root or a delegated subtree", "the control-group controller cpuset", "NUMA nodes"),
    source="METHOD M25",
    refuses=backwards,
    lacks=lacks,
    label=lambda level: "any node" if level == "none" else f"node {level}",
    build=Numa,
    undo=UNDO,
)
