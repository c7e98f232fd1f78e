"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from dataclasses import replace

from sojourn.questions.testing_state import Made, of_study
from sojourn.questions.together import judge as together
from sojourn.questions.together.meetings import Met


def found() -> Made:
    """Ratios that are narrow, wide and unknown."""
    ends = ((1.0, 2.9), (1.0, 3.1), (None, None))
    at = Met(service="a", fraction=0.3, offered_rps=1.0, beside=(), blocks=2)
    colocated = tuple(replace(at, ratio=lo and 2.0, lo=lo, hi=hi) for lo, hi in ends)
    return Made(of_study("together", together.Together(met=colocated)), 1, 3, "ratios")
