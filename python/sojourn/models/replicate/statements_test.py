"""What experiments ask of the simulator, and what they say of numbers given by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from sojourn.models.replicate import c22, l5, l15, l18
from sojourn.models.replicate.kind import Curve


def test_c22_on_one_cpu_nothing_shares_a_core_and_on_siblings_both_slow_down() -> None:
    same, siblings = (c22._job(name, 0.2, 0.2, 1.0) for name in (c22.SAME, "siblings"))
    assert [service["cpus"] for service in same["services"]] == [[0], [0]]
    assert [service["cpus"] for service in siblings["services"]] == [[0], [1]]
    assert (same["cpus"], same["smt_slowdown"]) == (1, 1.0)
    assert (siblings["cpus"], siblings["smt_slowdown"]) == (2, c22.SMT_SLOWDOWN)


def test_l15_a_tail_that_never_ends_is_infinitely_longer() -> None:
    assert l15._ratio(3.0, 2.0) == 1.5
    assert l15._ratio(None, 2.0) == l15._ratio(3.0, None) == math.inf


def test_l18_each_scheduler_is_held_against_the_papers_number_for_it() -> None:
    """Only one curve departs at 50 %, so only its statement changes."""

    def curve(name: str, at: float) -> Curve:
        y = tuple(1.0 if x < at else 10.0 for x in l18.LOADS)
        return Curve(name=name, x_label="", y_label="", x=l18.LOADS, y=y, achieved=l18.LOADS)

    alone = curve("alone", math.inf)
    for late in l18.CASES[1:5]:
        curves = {"alone": alone, **{c.name: curve(c.name, 0.12) for c in l18.CASES[1:]}}
        curves[late.name] = replace(curves[late.name], y=curve(late.name, 0.5).y)
        held = {
            c.what.partition(":")[0]: c.holds for c in l18._checks(curves) if "departs" in c.what
        }
        is_cfs = late in (l18.CASES[1], l18.CASES[3])
        assert held == {
            **dict.fromkeys((l18.CASES[1].name, l18.CASES[3].name), True),
            **dict.fromkeys((l18.CASES[2].name, l18.CASES[4].name), False),
            late.name: not is_cfs,
        }


def test_l5_one_formula_far_off_does_not_agree_however_many_others_do() -> None:
    def quantity(error: float) -> dict[str, Any]:
        interval = {"lo": 0.9, "mid": 1.0, "hi": 1.1}
        return {"quantity": "mean", "closed": 1 + error, "interval": interval, "error": error}

    def agrees(far: float) -> bool | None:
        part = [{"agreement": [quantity(0.0)] * 99 + [quantity(far)]}]
        return l5._agreement(l5.QUEUES[0], part).holds

    assert agrees(0.1) is True
    assert agrees(0.1 * l5.INTERVALS * 1.1) is False
