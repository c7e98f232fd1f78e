"""Which highest loads are numbers: those with a load that held and one that failed."""

from __future__ import annotations

import math

import pytest

from sojourn.findings import answer
from sojourn.findings.highest_load import Border, is_closed
from sojourn.stats.interval import Interval


@pytest.mark.parametrize(
    ("lo", "estimate", "hi", "is_number"),
    [
        (90.0, 100.0, 110.0, True),
        (100.0, 100.0, 100.0, True),
        (0.0, 100.0, 0.0, False),  # no load fits: the estimate is the lowest that was tried
        (0.0, 110.0, 110.0, False),
        (90.0, 90.0, math.inf, False),
        (0.0, 100.0, math.inf, False),
        (90.0, math.inf, math.inf, False),
        (90.0, 120.0, 110.0, False),  # of a damaged record
        (90.0, math.nan, 110.0, False),
        (math.nan, 100.0, 110.0, False),
        (90.0, 100.0, math.nan, False),
    ],
)
def test_a_border_with_an_open_end_is_no_number(
    lo: float,
    estimate: float,
    hi: float,
    is_number: bool,  # noqa: FBT001
) -> None:
    border = Border(
        estimate_rps=estimate,
        interval_rps=Interval(lo=lo, hi=hi),
        level=0.9,
        fraction=None,
        runs=4,
        starts=2,
        measured_s=8.0,
    )
    assert is_closed(border) is is_number
    assert answer.fits(border).startswith("≈") is is_number
