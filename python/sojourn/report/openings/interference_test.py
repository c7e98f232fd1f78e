"""Neighbours beside which a number has no end, for one cause or for another."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sojourn.findings.effects import MORE_THAN_SERVED, Effect, FactorFinding
from sojourn.findings.testing import made
from sojourn.report.openings import interference
from sojourn.stats.interval import Interval

WHAT = "p99 at 70 % load"
LOST = "3.3 % of the requests were lost"


def endless(reason: str) -> Effect:
    return Effect(
        what=WHAT,
        is_time=True,
        base="none",
        level=json.dumps("noise:cpu@75%"),
        ratio=None,
        interval=None,
        coverage=0.95,
        blocks=3,
        reason=reason,
        doubt="",
        sentence="",
        endless=1,
    )


def test_where_one_loses_requests_and_another_grows_the_queue_both_make_it_infinite() -> None:
    both = [endless(LOST), endless(MORE_THAN_SERVED)]
    who = "2 of 3 neighbours"
    assert interference._no_room(who, WHAT, both) == f"{who} make p99 infinite at 70 % load"
    assert interference._no_room(who, WHAT, both[1:]) == f"{who} leave no room for 70 % load"


def test_many_such_neighbours_are_counted_with_both_causes() -> None:
    many = [endless(LOST), *[endless(MORE_THAN_SERVED)] * 11]
    assert interference._endless(WHAT, many) == (
        "At 70 % load p99 is infinite beside 12 neighbours: requests were lost, or the queue grew."
    )


@pytest.mark.parametrize(
    ("is_time", "ends", "is_worst"),
    [
        (True, [(2.0, 2.4), (1.2, 1.9)], True),
        (True, [(2.0, 2.4), (1.2, 2.1)], False),
        (False, [(0.2, 0.3), (0.4, 0.6)], True),  # of a rate less is worse
        (False, [(0.2, 0.5), (0.4, 0.6)], False),
        (True, [(2.0, 2.4)], True),
    ],
)
def test_the_worst_is_named_as_that_only_where_intervals_are_apart(
    *, is_time: bool, ends: list[tuple[float, float]], is_worst: bool
) -> None:
    def effect(lo: float, hi: float) -> Effect:
        one = replace(endless(""), endless=0, is_time=is_time, ratio=(lo * hi) ** 0.5)
        return replace(one, interval=Interval(lo=lo, hi=hi))

    effects = tuple(effect(*pair) for pair in ends)
    assert interference._is_worst(effects) is is_worst
    factor = made(FactorFinding, service="m", effects=effects)
    lead = "Worst neighbour: CPU hog" if is_worst else "Worst neighbour may be CPU hog"
    assert interference._headline(factor, [WHAT]).startswith(lead)
