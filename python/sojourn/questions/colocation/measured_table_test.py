"""A record's co-location table: what a cell is in it."""

from __future__ import annotations

import math

import pytest

from sojourn.findings.neighbour_pace import Kept
from sojourn.plan.points import Verdict
from sojourn.questions.colocation.cells import SharedCell
from sojourn.questions.colocation.measured_table import _row
from sojourn.stats.interval import Interval


def cell(asked_per_s: float | None) -> SharedCell:
    stored = Kept(
        neighbour="noise:cpu",
        fraction=0.3,
        share=0.98,
        interval=Interval(0.96, 1.01),
        per_s=49.0,
        asked_per_s=asked_per_s,
        alone_per_s=100.0,
        runs=3,
    )
    return SharedCell(
        load=0.3,
        offered_rps=1e3,
        tail_ns=1e6,
        tail=Interval(9e5, 1.1e6),
        meets=Verdict.HOLDS,
        kept=stored,
        verdict=Verdict.HOLDS,
        why="",
        runs=3,
        lost=0,
    )


def test_a_table_has_shares_of_the_pace_alone_also_of_one_that_was_held_to_less() -> None:
    held, free = _row("cpu", cell(50.0)), _row("cpu", cell(None))
    assert held.throughput == pytest.approx(0.49)
    assert (held.throughput_lo, held.throughput_hi) == pytest.approx((0.48, 0.5))
    assert (free.throughput, free.throughput_hi) == (0.98, 1.0)
    retained = cell(math.inf).kept  # more than it can do
    assert retained is not None
    assert retained.most == 1.0
