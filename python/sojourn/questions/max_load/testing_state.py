"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

import math

from sojourn.questions.testing_state import Made, border, of_service


def found() -> Made:
    """Searches that ended narrow, wide, without a load that holds, and without one that fails."""
    each = (border(100, 290), border(100, 310), border(0, 0), border(100, math.inf))
    return Made(of_service("max_load", *each), 2, 4, "services")
