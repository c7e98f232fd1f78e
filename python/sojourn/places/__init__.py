"""Where programs run: how they are started, found again, ended and kept from harm.

Adding a place is one file like `local.py` and one line in `KINDS`.
"""

from __future__ import annotations

from sojourn import kinds
from sojourn.places import local, lxc, netns, nspawn, null, runc, vm
from sojourn.places.launch import Launch
from sojourn.places.place import Place, PlaceKind
from sojourn.places.ports import Address

#: Every kind of place, in reading order.
KINDS = kinds.table(
    null.KIND,
    local.KIND,
    netns.KIND,
    runc.KIND,
    nspawn.KIND,
    lxc.KIND,
    vm.KIND,
)

__all__ = ["KINDS", "Address", "Launch", "Place", "PlaceKind", "build", "kind", "network_kind"]


def kind(asked: str) -> PlaceKind:
    """Find the kind of a place, asked for as `KIND` or `KIND:NETWORK`.

    Raises:
        SpecFault: there is none of that name.
    """
    return kinds.find(KINDS, asked.partition(":")[0], "place")


def network_kind(asked: str) -> PlaceKind | None:
    """The kind of place whose network it is to be in; None: that of its own kind.

    Raises:
        SpecFault: its kind cannot be in that network.
    """
    name = asked.partition(":")[2]
    if not name:
        return None
    within = kind(asked).networks
    return kinds.find({n: KINDS[n] for n in within}, name, f"network for {kind(asked).name}")


def build(asked: str, address: str = "") -> Place:
    """A place that is not entered yet, asked for as `KIND` or `KIND:NETWORK`; raises SpecFault.

    Args:
        asked: as the study has it.
        address: where servers on bare metal listen; "": on loopback.
    """
    if asked == local.NAME and address:
        return local.Local(address)
    within = network_kind(asked)
    return kind(asked).build(within.build()) if within else kind(asked).build()
