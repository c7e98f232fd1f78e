"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from sojourn.questions.manager_league import judge as league
from sojourn.questions.manager_league.rows import Row
from sojourn.questions.testing_state import Made, of_study


def found() -> Made:
    """Two managers that are known, the twin of one of them, and one with too few runs."""
    rows = (
        Row(manager="null", load=0.5),
        Row(manager="null", load=0.5, is_twin=True),
        Row(manager="parties", load=0.5),
        Row(manager="captain", load=0.5, why="1 of the 3 runs that are needed"),
    )
    whole = of_study("manager_league", league.League(rows=rows))
    return Made(whole, 2, 3, "managers")
