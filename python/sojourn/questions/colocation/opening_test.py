"""The first screen of a co-location: a rule bounds where it ends open."""

from __future__ import annotations

import pytest

from sojourn.plan.points import Verdict
from sojourn.questions.colocation import judge, opening
from sojourn.questions.colocation.cells import SharedCell
from sojourn.questions.colocation.judge import Rule
from sojourn.questions.testing_state import HOLDS, UNKNOWN, VIOLATED, made


@pytest.mark.parametrize(
    ("next_", "verdict", "to"),
    [(VIOLATED, HOLDS, "up to 30 %"), (UNKNOWN, UNKNOWN, "up to at least 30 %")],
)
def test_the_load_up_to_which_a_job_may_stay(next_: Verdict, verdict: Verdict, to: str) -> None:
    stop = made(SharedCell, load=0.5, verdict=next_, meets=next_, why="a reason")
    rule = made(
        Rule,
        service="m",
        neighbour="xz",
        setting="same CPUs",
        loss_max=0.6,
        load=0.3,
        stop=stop,
        verdict=verdict,
    )
    assert opening._headline([("xz", rule)]) == f"Xz may stay {to} load"
    first, *_ = opening._sentences([("xz", rule)], "p99 ≤ 1 ms")
    assert first == f"Xz may stay {to} load."
    assert judge.in_words(rule, None).startswith(f"{to[0].upper()}{to[1:]} load m keeps its target")
    passed = made(SharedCell, load=0.3, verdict=HOLDS, why="")
    assert judge._reach(passed, stop).startswith(f"admitted {to} load; ")


def test_where_the_lowest_load_is_open_nothing_is_refused() -> None:
    stop = made(SharedCell, load=0.1, verdict=UNKNOWN, why="a reason")
    text = judge._reach(None, stop)
    assert text == "whether any load is admitted is unknown; unknown at 10 %: a reason"
