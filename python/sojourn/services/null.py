"""No service at all: the generator's null protocol answers itself.

What is measured against it is the instrument (M20).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn.services.kind import Json, Room, Service, ServiceKind
from sojourn.services.params import Value, settle

NAME = "null"


@dataclass(frozen=True, slots=True)
class Null(Service):
    """Nothing is started."""

    @property
    def setup(self) -> tuple[tuple[str, str], ...]:
        """Facts for people."""
        return (("server", "none: the generator answers itself"),)

    @property
    def program(self) -> Path | None:
        """Nothing."""
        return None

    @property
    def workers(self) -> int:
        """None."""
        return 0

    def command(self, work: Path, port: int) -> Sequence[str]:
        """Nothing."""
        del work, port
        return ()

    def target(self, port: int) -> str:
        """The generator's null protocol."""
        del port
        return "null:"

    def job(self) -> Mapping[str, Json]:
        """Nothing follows."""
        return {}

    def answers(self, port: int, within_s: float) -> bool:
        """Always."""
        del port, within_s
        return True


def build(given: Mapping[str, Value], room: Room) -> Service:
    """Refuse parameters; there are none."""
    del room
    settle(NAME, (), given)
    return Null()


KIND = ServiceKind(
    name=NAME,
    about="no server: what the instrument itself costs",
    params=(),
    needs=(),
    source="METHOD M20",
    build=build,
)
