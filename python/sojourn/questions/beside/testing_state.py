"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

import math

from sojourn.questions.beside import costs as beside
from sojourn.questions.beside.interference import Break, Number, Row
from sojourn.questions.testing_state import NARROW, WIDE, Made, made, of_study
from sojourn.stats.interval import Interval


def found() -> Made:
    """One setting under which the tail departs, and one of which little is known."""

    def row(load: float, state: str, interval: Interval | None = None) -> Row:
        return made(Row, load=load, state=state, ratio=Number(1.5, interval) if interval else None)

    broken = made(
        beside.Beside,
        breaks=Break(0.1, 0.3, 0.6),
        rows=(row(0.1, "alone"), row(0.3, "departed"), row(0.6, "open")),
    )
    open_ = made(
        beside.Beside,
        breaks=Break(0.0, math.inf, 0.6),
        rows=(row(0.1, "open", NARROW), row(0.3, "open", WIDE), row(0.6, "open")),
    )
    return Made(of_study("beside", beside.BesideSection(found=(broken, open_))), 4, 6, "loads")
