"""What the lab can fetch or make for itself: packages that are unpacked for it, never installed.

Of some it makes a service, with programs that are compiled here and data of this machine.

Nothing on the machine changes but the lab's own cache. Adding one is one file like `vm.py` and one
line in `KINDS`.
"""

from __future__ import annotations

from sojourn import kinds
from sojourn.install import media_streaming, moses, shore, specjbb, sphinx, vm, xapian
from sojourn.install.part import MANIFEST, Made, Part, fetch, hashed, offers

#: Everything that can be fetched or made, in reading order.
KINDS = kinds.table(
    vm.PART, xapian.PART, sphinx.PART, moses.PART, shore.PART, specjbb.PART, media_streaming.PART
)

__all__ = ["KINDS", "MANIFEST", "Made", "Part", "fetch", "hashed", "offers", "part"]


def part(name: str) -> Part:
    """Find what can be fetched by its name.

    Raises:
        SpecFault: there is none of that name.
    """
    return kinds.find(KINDS, name, "part")
