"""Nowhere: the place of a service that is no program (`services.null`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from sojourn.errors import RunFault
from sojourn.places import ports
from sojourn.places.place import Place, PlaceKind

NAME = "null"


@dataclass(frozen=True, slots=True)
class Null(Place):
    """A place where nothing can be started."""

    kind = NAME

    @property
    def host(self) -> str:
        """Loopback: an address is asked for where a job is written, and nobody listens there."""
        return ports.HOST

    def start(self, what: str, argv: Sequence[str | Path], **how: Any) -> NoReturn:
        """Refuse to start anything: always a RunFault."""
        del argv, how
        raise RunFault(
            f"place null cannot start {what}", at='place = "null"', fix='give place = "local"'
        )


KIND = PlaceKind(
    name=NAME,
    about="nowhere: for the service null, which is not a program",
    starts=False,
    build=Null,
)
