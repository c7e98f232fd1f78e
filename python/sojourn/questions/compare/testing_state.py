"""Made-up findings of this question."""

from __future__ import annotations

from sojourn.questions.compare import compared as compare
from sojourn.questions.testing_state import NARROW, Made, of_study
from sojourn.stats.paired_ratio import Judgement


def found() -> Made:
    """Numbers that are worse, the same and open."""
    rows = tuple(
        compare.Row(
            service="new",
            number="p99",
            first_ns=1.0,
            other_ns=1.0,
            pairs=9,
            ratio=1.0,
            interval=NARROW,
            judgement=judgement,
        )
        for judgement in (Judgement.WORSE, Judgement.SAME, Judgement.OPEN)
    )
    return Made(of_study("compare", compare.Compared(rows=rows)), 2, 3, "numbers")
