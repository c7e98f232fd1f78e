"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from sojourn.questions.check import judge as check
from sojourn.questions.check.rows import CheckRow
from sojourn.questions.testing_state import HOLDS, UNKNOWN, VIOLATED, Made, made, of_study


def found() -> Made:
    """A comparison of each verdict."""
    rows = tuple(made(CheckRow, verdict=v) for v in (HOLDS, VIOLATED, UNKNOWN))
    return Made(of_study("check", check.Checks(rows=rows)), 2, 3, "comparisons")
