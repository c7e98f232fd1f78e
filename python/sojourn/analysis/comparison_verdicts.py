"""What follows from all numbers of a comparison: they are one family (Holm)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sojourn.analysis import border_rows, equal_loads
from sojourn.analysis.comparison_rows import Ratio, Row
from sojourn.stats import holm
from sojourn.stats.paired_ratio import Judgement, Limits
from sojourn.text.numbers import percent

NEAR = 0.05  # chance of an error up to which an open number says how large it is


def judged(rows: Sequence[Row], limits: Limits) -> list[Row]:
    """The rows with *worse* and *better*, the family's error rate held."""
    p_values = {
        f"{at}/{number}": side.p
        for at, row in enumerate(rows)
        for number, side in enumerate(row.sides)
        if side.interval is not None and side.note == ""
    }
    sure = holm.adjusted(p_values)
    results = []
    for at, row in enumerate(rows):
        sides = []
        for number, side in enumerate(row.sides):
            p = sure.get(f"{at}/{number}")
            is_open = p is None or p > limits.alpha
            one = _open(side, p, len(sure), limits) if is_open else _sure(side, row)
            sides.append(_at_its_load(one))
        results.append(replace(row, sides=tuple(sides)))
    return results


def _sure(side: Ratio, row: Row) -> Ratio:
    """Worse or better, unless equal runs differ by as much."""
    if side.ratio is not None:
        if side.noise is not None and abs(math.log(side.ratio)) <= math.log(side.noise):
            return replace(side, judgement=Judgement.OPEN, note="no more than equal runs differ by")
        is_more = side.ratio > 1
    else:  # a bound: all of the interval lies on one side
        is_more = side.interval is not None and side.interval.lo >= 1
    return replace(side, judgement=Judgement.BETTER if is_more is row.is_rate else Judgement.WORSE)


def _at_its_load(side: Ratio) -> Ratio:
    """The side as it is, unless its load may be the reason: times rise with load.

    So a record that had more load and is no worse would be none at an equal load either.
    """
    is_more = side.apart > 0
    is_hidden = (
        side.judgement is not Judgement.WORSE if is_more else side.judgement is Judgement.WORSE
    )
    if not side.apart or side.note or is_hidden:
        return side
    return replace(side, judgement=Judgement.OPEN, note=equal_loads.words(side.apart))


def _open(side: Ratio, p: float | None, of: int, limits: Limits) -> Ratio:
    """The side as it is, with the reason where a difference is near, or an end is open."""
    if p is None or side.judgement is not Judgement.OPEN:
        return side
    if side.p > NEAR:
        return replace(side, note=border_rows.OPEN) if side.ratio is None else side
    together = f", in one of all {of} numbers {percent(p, 1)}" if of > 1 else ""
    chance = f"chance of an error {percent(side.p, 1)}{together}"
    return replace(side, note=f"{chance}; {percent(limits.alpha)} is allowed")


def whole(rows: Sequence[Row]) -> Judgement:
    """Of all numbers together: the worst, unless it cannot be decided."""
    judgements = [side.judgement for row in rows for side in row.sides[1:]]
    for judgement in (Judgement.WORSE, Judgement.BETTER):
        if judgement in judgements:
            return judgement
    is_same = bool(judgements) and all(one is Judgement.SAME for one in judgements)
    return Judgement.SAME if is_same else Judgement.OPEN
