"""Changes nothing: what the loop itself costs, and what happens without a manager."""

from __future__ import annotations

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Decision, History


def decide(history: History) -> Decision:
    """No change."""
    del history
    return Decision()


KIND = ControllerKind(name="null", about="changes nothing", source="of this lab", decide=decide)
