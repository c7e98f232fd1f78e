"""Another address of loopback: 127.0.0.2, which every Linux machine has."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.places.place import Place, PlaceKind

NAME = "loopback2"


@dataclass(frozen=True, slots=True)
class Loopback2(Place):
    """The lab's own network namespace, at another address than usual."""

    kind = NAME

    @property
    def host(self) -> str:
        """The second address of loopback, which only this machine reaches."""
        return "127.0.0.2"


KIND = PlaceKind(name=NAME, about="a process on this machine, at 127.0.0.2", build=Loopback2)
