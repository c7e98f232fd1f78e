"""Changes nothing: the cost of the loop, and what no manager means."""

from __future__ import annotations

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Decision, History


def decide(history: History) -> Decision:
    """No change, whatever the history is."""
    del history
    return Decision()


KIND = ControllerKind(name="null", about="changes nothing", source="of this lab", decide=decide)
