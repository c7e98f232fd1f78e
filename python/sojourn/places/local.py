"""This machine as it is: an ordinary process on loopback."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.places import ports
from sojourn.places.place import Place, PlaceKind

NAME = "local"


@dataclass(frozen=True, slots=True)
class Local(Place):
    """The lab's own network namespace; there is nothing to make and nothing to undo."""

    kind = NAME

    @property
    def host(self) -> str:
        """Loopback, which only this machine reaches."""
        return ports.HOST


KIND = PlaceKind(
    name=NAME,
    label="bare metal",
    about="a process on this machine, reached over loopback (127.0.0.1)",
    build=Local,
)
