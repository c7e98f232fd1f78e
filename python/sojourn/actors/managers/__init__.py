"""Who turns knobs while load runs.

Adding one is one file like `null.py` and one line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.actors.kind import NamedKind
from sojourn.actors.managers import null
from sojourn.actors.managers.manager import Changes, Manager, Windows
from sojourn.kinds import table

#: Every kind of manager, in reading order.
KINDS: Mapping[str, NamedKind] = table(
    null.KIND,
)

__all__ = ["KINDS", "Changes", "Manager", "Windows"]
