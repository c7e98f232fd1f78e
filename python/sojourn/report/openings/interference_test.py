"""Neighbours beside which a number has no end, for one cause or for another."""

from __future__ import annotations

import json

from sojourn.findings.effects import MORE_THAN_SERVED, Effect
from sojourn.report.openings import interference

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
