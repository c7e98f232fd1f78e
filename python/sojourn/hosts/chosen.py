"""The nodes that the names of a study mean. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.errors import SpecFault
from sojourn.hosts.engine import Node
from sojourn.spec.hosts import HostsSpec


def chosen(spec: HostsSpec, nodes: Sequence[Node]) -> list[Node]:
    """The node of each client.

    Raises:
        SpecFault: a name means none of them, or none is left for clients.
    """
    if spec.local:
        return [nodes[0]] * spec.local
    if spec.clients is None:
        others = [node for node in nodes if not node.is_own and not _serves(spec, node)]
        if not others:
            raise SpecFault(
                "the role clients has no host: the cluster has no node but this one",
                at="hosts.clients",
                fix="add nodes by `ray start --address …` on them, or name this one",
            )
        return others
    result: list[Node] = []
    for name in spec.clients:
        called = _called(name, nodes, "hosts.clients")
        result += called if "=" in name else called[:1]
    return result


def named(name: str, nodes: Sequence[Node], at: str) -> Node:
    """The node that a role's name means: of several with a label the first.

    Raises:
        SpecFault: it means none of them.
    """
    return _called(name, nodes, at)[0]


def _called(name: str, nodes: Sequence[Node], at: str) -> list[Node]:
    called = [node for node in nodes if node.is_called(name)]
    if not called:
        known = ", ".join(node.text for node in nodes) or "none"
        raise SpecFault(f"the cluster has no node '{name}'", at=at, fix=f"use one of: {known}")
    return called


def _serves(spec: HostsSpec, node: Node) -> bool:
    """Whether it has another role, so that it is no client unless it is named as one."""
    names = (spec.server, *spec.neighbours, *spec.observers)
    return any(node.is_called(name) for name in names if name)
