"""This machine as it is: an ordinary process on loopback."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.places import ports
from sojourn.places.place import Place, PlaceKind

NAME = "local"


@dataclass(frozen=True, slots=True)
class Local(Place):
    """The lab's own network namespace; there is nothing to make and nothing to undo.

    Attributes:
        at: the address at which servers listen; loopback, which only this machine reaches, unless
            clients are on other hosts.
    """

    at: str = ports.HOST

    kind = NAME

    @property
    def host(self) -> str:
        """The address at which servers listen."""
        return self.at


KIND = PlaceKind(
    name=NAME,
    label="bare metal",
    about="a process on this machine, reached over loopback (127.0.0.1)",
    build=Local,
)
