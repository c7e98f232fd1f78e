"""What the lab can fetch or make for itself: packages that are unpacked for it, never installed.

Nothing on the machine changes but the lab's own cache. Adding one is one file like `vm.py` and one
line in `KINDS`.
"""

from __future__ import annotations

from sojourn import kinds
from sojourn.install import media_streaming, vm
from sojourn.install.part import Made, Part, fetch, offers

#: Everything that can be fetched, in reading order.
KINDS = kinds.table(vm.PART, media_streaming.PART)

__all__ = ["KINDS", "Made", "Part", "fetch", "offers", "part"]


def part(name: str) -> Part:
    """Find what can be fetched by its name.

    Raises:
        SpecFault: there is none of that name.
    """
    return kinds.find(KINDS, name, "part")
