"""A neighbour that does nothing: what is measured beside it is measured alone."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.actors.actor import Actor, Role, Stage
from sojourn.actors.kind import NamedKind


class Null(Actor):
    """Enters and leaves, and does nothing between."""

    role = Role.NEIGHBOUR
    name = "null"

    def enter(self, stage: Stage) -> None:
        """Start nothing: no CPU is used."""
        del stage

    def leave(self) -> None:
        """There is nothing to end."""


def build(params: Mapping[str, str]) -> Null:
    """There is nothing to choose."""
    del params
    return Null()


KIND = NamedKind(name="null", about="nothing: enters and leaves", source="of this lab", build=build)
