"""No service at all: the generator's null protocol answers itself.

What is measured against it is the instrument (M20).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn.places.ports import Address
from sojourn.services.kind import Allowance, Json, Service, ServiceKind
from sojourn.services.params import Value, settle

NAME = "null"


@dataclass(frozen=True, slots=True)
class Null(Service):
    """A service for which nothing is started: the generator answers itself."""

    @property
    def setup(self) -> tuple[tuple[str, str], ...]:
        """That there is no server, for people."""
        return (("server", "none: the generator answers itself"),)

    @property
    def program(self) -> Path | None:
        """None: there is nothing to start."""
        return None

    @property
    def workers(self) -> int:
        """Zero: nobody serves, and nobody is pinned."""
        return 0

    def command(self, work: Path, address: Address) -> Sequence[str]:
        """No arguments, for there is no program."""
        del work, address
        return ()

    def target(self, address: Address) -> str:
        """The generator's null protocol, without an address."""
        del address
        return "null:"

    def job(self) -> Mapping[str, Json]:
        """No keys: nothing of the job follows from it."""
        return {}

    def answers(self, address: Address, within_s: float) -> bool:
        """True: there is nobody who could be silent."""
        del address, within_s
        return True


def build(given: Mapping[str, Value], allowance: Allowance) -> Service:
    """Refuse parameters; there are none."""
    del allowance
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
