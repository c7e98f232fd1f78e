"""Nowhere: the place of a service that is no program (`services.null`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from sojourn.errors import RunFault
from sojourn.places import ports
from sojourn.places.launch import Launch
from sojourn.places.place import Place, PlaceKind

NAME = "null"


@dataclass(frozen=True, slots=True)
class Null(Place):
    """A place where nothing can be started."""

    kind = NAME

    @property
    def host(self) -> str:
        """Loopback: an address is asked for where a job is written, and nothing listens there."""
        return ports.HOST

    def start(self, launch: Launch) -> NoReturn:
        """Refuse to start anything: always a RunFault."""
        raise RunFault(
            f"place null cannot start {launch.what}",
            at='place = "null"',
            fix='give place = "local"',
        )


KIND = PlaceKind(
    name=NAME,
    about="nowhere: for the service null, which is not a program",
    starts=False,
    build=Null,
)
