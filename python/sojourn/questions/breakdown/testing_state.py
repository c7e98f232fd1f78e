"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from sojourn.questions.breakdown.findings import Breakdown, Cost, Stages
from sojourn.questions.testing_state import HOLDS, UNKNOWN, Made, made, of_service


def found() -> Made:
    """A column that is believed, and one that is not."""
    none = made(Cost, pairs=0)
    columns = tuple(made(Stages, verdict=v, cost=none) for v in (HOLDS, UNKNOWN))
    return Made(of_service("breakdown", Breakdown(columns=columns)), 1, 2, "conditions")
