"""Where programs run: how they are started, found again, ended and kept from harm.

Adding a place is one file like `local.py` and one line in `KINDS`.
"""

from __future__ import annotations

from sojourn import kinds
from sojourn.places import local, netns, null
from sojourn.places.place import Place, PlaceKind
from sojourn.places.ports import Address

#: Every kind of place, in reading order.
KINDS = kinds.table(
    null.KIND,
    local.KIND,
    netns.KIND,
)

__all__ = ["KINDS", "Address", "Place", "PlaceKind", "kind"]


def kind(name: str) -> PlaceKind:
    """Find a kind of place by name.

    Raises:
        SpecFault: there is none of that name.
    """
    return kinds.find(KINDS, name, "place")
