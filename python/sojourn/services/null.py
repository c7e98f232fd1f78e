"""No service at all: the generator's null protocol answers itself.

What is measured against it is the instrument (M20).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.places.ports import Address
from sojourn.services.capabilities import Demands, Describes, Needs, Rows
from sojourn.services.kind import Allowance, Endpoint, Service, ServiceKind
from sojourn.services.params import Value, settle

NAME = "null"


@dataclass(frozen=True, slots=True)
class Null(Service, Describes, Demands):
    """A service for which nothing is started: the generator answers itself."""

    def setup(self) -> Rows:
        """That there is no server, for people."""
        return (("server", "none: the generator answers itself"),)

    def needs(self) -> Needs:
        """No workers: no one serves, and no one is pinned."""
        return Needs(workers=0)

    def endpoint(self, address: Address) -> Endpoint:
        """The generator's null protocol, without an address."""
        del address
        return Endpoint(target="null:")

    def ready(self, address: Address, within_s: float) -> bool:
        """True: there is no one who could be silent."""
        del address, within_s
        return True


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Refuse parameters; there are none."""
    del allowance
    settle(NAME, (), inputs)
    return Null()


KIND = ServiceKind(
    name=NAME,
    about="no server: what the instrument itself costs",
    params=(),
    needs=(),
    source="METHOD M20",
    build=build,
)
