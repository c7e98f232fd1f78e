"""A kind of client: how the load of one point is parted among generator processes.

A client is asked for a job and gives the jobs of its processes, which begin at one instant. It
starts nothing itself: `run.clients` does, and puts together what they bring home.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sojourn.actors.kind import ActorKind

Job: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKind(ActorKind):
    """One kind of client.

    Attributes:
        share: the jobs of `n` processes that together do what a job says.
    """

    share: Callable[[Job, int], tuple[Job, ...]]
