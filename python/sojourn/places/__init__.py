"""Where programs run: how they are started, found again, ended and kept from harm.

Adding a place is one file like `local.py` and one line in `KINDS`. Kinds are loaded when they are
asked for, because readers of records need none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sojourn import kinds, late
from sojourn.errors import SpecFault

if TYPE_CHECKING:
    from sojourn.places import (  # noqa: F401 - for whoever follows imports
        local,
        lxc,
        netns,
        nspawn,
        null,
        runc,
        vm,
    )
    from sojourn.places.launch import Launch
    from sojourn.places.place import Place, PlaceKind, PlaceOption
    from sojourn.places.ports import Address

#: Every kind of place, in reading order.
KINDS: Mapping[str, PlaceKind] = kinds.late(
    "sojourn.places",
    "null",
    "local",
    "netns",
    "runc",
    "nspawn",
    "lxc",
    "vm",
)

__all__ = [
    "KINDS",
    "Address",
    "Launch",
    "Place",
    "PlaceKind",
    "PlaceOption",
    "build",
    "kind",
    "network_kind",
    "options",
]

__getattr__ = late.names(
    __name__,
    {
        "launch": ["Launch"],
        "place": ["Place", "PlaceKind", "PlaceOption"],
        "ports": ["Address"],
    },
)


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
    if not name or kind(asked).options:
        return None
    within = kind(asked).networks
    return kinds.find({n: KINDS[n] for n in within}, name, f"network for {kind(asked).name}")


def options(asked: str) -> tuple[PlaceOption, ...]:
    """The options of a place, asked for as `KIND:NAME+NAME`; () if none is.

    Raises:
        SpecFault: there is none of that name, or two for one part.
    """
    known = {option.name: option for option in kind(asked).options}
    names = asked.partition(":")[2].split("+") if known and ":" in asked else []
    results = tuple(kinds.find(known, name, f"option of {kind(asked).name}") for name in names)
    if len({result.part for result in results}) < len(results):
        raise SpecFault(
            f"place {asked} has two options for one part",
            at=asked,
            fix="give one of " + ", ".join(f"{one.name} ({one.part})" for one in known.values()),
        )
    return results


def build(asked: str, address: str = "") -> Place:
    """A place that is not entered yet, asked for as `KIND` or `KIND:NETWORK`; raises SpecFault.

    Args:
        asked: as the study has it.
        address: where servers on bare metal listen; "": on loopback.
    """
    from sojourn.places import local

    if asked == local.NAME and address:
        return local.Local(address)
    if selected := options(asked):
        return kind(asked).build(frozenset(option.name for option in selected))
    within = network_kind(asked)
    return kind(asked).build(within.build()) if within else kind(asked).build()
