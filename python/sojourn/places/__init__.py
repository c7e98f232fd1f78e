"""Where programs run: how they are started, found again, ended and kept from harm.

Adding a place is one file like `local.py` and one line in `KINDS`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from sojourn.errors import SpecFault
from sojourn.places import local, null
from sojourn.places.place import Place, PlaceKind
from sojourn.places.ports import Address

#: Every kind of place, in reading order.
KINDS: Mapping[str, PlaceKind] = {module.KIND.name: module.KIND for module in (null, local)}

__all__ = ["KINDS", "Address", "Place", "PlaceKind", "kind"]


def kind(name: str) -> PlaceKind:
    """Find a kind of place by name.

    Raises:
        SpecFault: there is none of that name.
    """
    if name in KINDS:
        return KINDS[name]
    near = difflib.get_close_matches(name, KINDS, n=1)
    raise SpecFault(
        f"there is no place {name}",
        at=f"place {name}",
        fix=f"did you mean {near[0]}?" if near else f"known: {', '.join(KINDS)}",
    )
