"""Who decides what best-effort work may use: pure rules, from looks to changes.

Adding one is one file like `null.py` and one line in `KINDS`. A rule from the literature names its
place of origin and its constants; `rules_test.py` has a table of windows and decisions for each,
derived from the origin's text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sojourn import kinds
from sojourn.controllers.kind import NEEDS, ControllerKind
from sojourn.controllers.look import Change, Decision, Group, History, Look, Window

if TYPE_CHECKING:
    from sojourn.controllers import (  # noqa: F401 - for whoever follows imports
        be_controller,
        caladan,
        captain,
        clite,
        heracles,
        koordinator,
        null,
        osml,
        parties,
        posterior,
        proportional,
        rama,
        ream,
        static,
    )

#: Every controller, in reading order.
KINDS: Mapping[str, ControllerKind] = kinds.late(
    "sojourn.controllers",
    "null",
    "static",
    "heracles",
    "be_controller as be-controller",
    "parties",
    "clite",
    "osml as osml-gates",
    "captain",
    "koordinator",
    "rama",
    "proportional",
    "caladan",
    "ream",
    "posterior",
)

__all__ = [
    "KINDS",
    "NEEDS",
    "Change",
    "ControllerKind",
    "Decision",
    "Group",
    "History",
    "Look",
    "Window",
    "kind",
]


def kind(name: str) -> ControllerKind:
    """Find a controller by name.

    Raises:
        SpecFault: there is none of that name.
    """
    return kinds.find(KINDS, name, "controller")
