"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from dataclasses import replace

from sojourn.plan.points import Verdict
from sojourn.questions.colocation import judge as colocation
from sojourn.questions.colocation.cells import SharedCell
from sojourn.questions.testing_state import HOLDS, UNKNOWN, VIOLATED, Made, made, of_study


def found() -> Made:
    """Cells of a service alone and beside a neighbour."""

    def cells(*verdicts: Verdict) -> colocation.Shared:
        each = tuple(made(SharedCell, load=n / 10, verdict=v) for n, v in enumerate(verdicts, 1))
        return made(colocation.Shared, neighbour="xz", cells=each)

    alone = replace(cells(UNKNOWN), neighbour="")
    stopped = cells(HOLDS, VIOLATED, UNKNOWN)  # above the border nothing is open
    open_ = cells(HOLDS, UNKNOWN, VIOLATED)
    whole = of_study("colocation", colocation.Colocation(shared=(alone, stopped, open_)))
    return Made(whole, 5, 6, "cells")
