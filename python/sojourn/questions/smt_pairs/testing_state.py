"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from sojourn.questions.smt_pairs import judge as smt_pairs
from sojourn.questions.testing_state import NARROW, WIDE, Made, of_study


def found() -> Made:
    """Speed-ups that are narrow, wide and unknown."""
    ends = (NARROW, WIDE, None)
    pairs = tuple(smt_pairs.Pair(program="xz", speed_up=1.2, interval=one) for one in ends)
    return Made(of_study("smt_pairs", smt_pairs.SmtPairsFound(pairs=pairs)), 1, 3, "programs")
