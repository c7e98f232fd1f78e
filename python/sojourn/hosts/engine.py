"""What the lab needs of a cluster: nodes, agents on them, answers in time.

`ray_engine` has it from Ray. Nothing here or in what uses it imports Ray.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

Facts: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node of a cluster.

    Attributes:
        is_own: the lab itself runs on it.
        labels: KEY=VALUE texts.
    """

    id: str
    name: str
    address: str
    is_own: bool = False
    labels: frozenset[str] = field(default=frozenset())

    def is_called(self, name: str) -> bool:
        """Whether a study's name means it."""
        return name in {self.id, self.name, self.address} or name in self.labels

    @property
    def text(self) -> str:
        """As people read it: `name (address)`, or the address alone."""
        return self.address if self.name in {"", self.address} else f"{self.name} ({self.address})"


class LostError(Exception):
    """An agent is gone, with its process, its node, or the way there."""


class SilentError(LostError):
    """An agent has not answered in time."""


class Pending(Protocol):
    """An answer that is on its way."""

    @property
    def came_ns(self) -> int | None:
        """When the answer was there, by the lab's monotonic clock; None: not yet, or unknown."""

    def is_there(self) -> bool:
        """Whether `result` would not wait."""

    def result(self, within_s: float) -> Any:
        """The answer.

        Raises:
            SilentError: it did not come in time.
            LostError: it will not come.
        """


class Remote(Protocol):
    """An agent, on a node of the cluster."""

    @property
    def node(self) -> Node:
        """The node that its process runs on."""

    def ask(self, name: str, *args: Any) -> Pending:
        """Call a method of `hosts.agent.Agent` there."""

    def end(self) -> None:
        """End its process, whatever it does."""


class Engine(Protocol):
    """A cluster that is connected."""

    @property
    def about(self) -> str:
        """What it is, with its version."""

    def nodes(self) -> tuple[Node, ...]:
        """Those that live, in the order of their addresses."""

    def hire(self, node: Node) -> Remote:
        """Start an agent on a node; its first answer says whether it came."""

    def close(self) -> None:
        """End all agents and leave the cluster; end it, if it is the lab's own."""
