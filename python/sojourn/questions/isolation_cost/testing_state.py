"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from typing import Any

from sojourn.questions.isolation_cost import judge as isolation_cost
from sojourn.questions.isolation_cost.costs import Cost
from sojourn.questions.testing_state import NARROW, WIDE, Made, estimate, made, of_service
from sojourn.stats.interval import Interval


def found() -> Made:
    """Costs that are narrow, wide, in doubt and missing."""

    def row(interval: Interval | None, **more: Any) -> isolation_cost.Row:
        cost = made(Cost, mean=estimate(interval))
        plain = {"name": "x", "missing": "", "doubts": (), "costs": {"idle": cost}}
        return made(isolation_cost.Row, **{**plain, **more})

    rows = (
        row(NARROW),
        row(WIDE),
        row(None),
        row(NARROW, doubts=("not in force",)),
        row(None, missing="no resctrl", costs={}),
    )
    whole = of_service("isolation_cost", isolation_cost.IsolationCosts(rows=rows))
    return Made(whole, 1, 4, "costs")
