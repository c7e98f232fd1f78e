"""What the lab can fetch or make for itself: packages that are unpacked for it, never installed.

Of some it makes a service, with programs that are compiled here and data of this machine.

Nothing on the machine changes but the lab's own cache. Adding one is one file like `vm.py` and one
line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sojourn import kinds
from sojourn.install.part import MANIFEST, Made, Part, fetch, hashed, offers

if TYPE_CHECKING:
    from sojourn.install import (  # noqa: F401 - for whoever follows imports
        media_streaming,
        moses,
        shore,
        specjbb,
        sphinx,
        vm,
        xapian,
    )

#: Everything that can be fetched or made, in reading order.
KINDS: Mapping[str, Part] = kinds.late(
    "sojourn.install",
    "vm",
    "xapian",
    "sphinx",
    "moses",
    "shore",
    "specjbb",
    "media_streaming",
    each="PART",
)

__all__ = ["KINDS", "MANIFEST", "Made", "Part", "fetch", "hashed", "offers", "part"]


def part(name: str) -> Part:
    """Find what can be fetched by its name.

    Raises:
        SpecFault: there is none of that name.
    """
    return kinds.find(KINDS, name, "part")
