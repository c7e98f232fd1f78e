"""A probe that sees nothing; no point asks for it."""

from __future__ import annotations

from sojourn.actors.actor import Actor, Role, Stage
from sojourn.actors.kind import ProbeKind
from sojourn.plan import Point
from sojourn.spec import ServiceSpec


class Null(Actor):
    """Enters and leaves, and sees nothing between."""

    role = Role.PROBE
    name = "null"

    def enter(self, stage: Stage) -> None:
        """Start nothing: no counter is read."""
        del stage

    def leave(self) -> None:
        """There is nothing to end."""


def build(spec: ServiceSpec, point: Point) -> None:
    """No point asks for it."""
    del spec, point


KIND = ProbeKind(
    name="null",
    place=0,
    about="sees nothing; no point asks for it",
    source="of this lab",
    build=build,
)
