"""Rounds of the search for the highest rate without drops: which of them have a border."""

from __future__ import annotations

import pytest

from sojourn.plan.decide import Decision
from sojourn.plan.ladder import Round, Rung
from sojourn.plan.rounds import bracket


def round_of(ended: str, **decisions: Decision) -> Round:
    """A round that is over, from loads (`r90` is 90 requests/s) and what was said of them."""
    texts = {float(name[1:]): decision for name, decision in decisions.items()}
    failed = [rps for rps, decision in texts.items() if decision is Decision.FAIL]
    hi = min(failed)
    passed = [rps for rps, d in texts.items() if d is Decision.PASS and rps < hi]
    return Round(
        rungs=tuple(Rung(rps=rps, decision=d, runs=1, believed=1) for rps, d in texts.items()),
        lo=max(passed, default=None),
        hi=hi,
        next_rps=None,
        next_s=None,
        ended=ended,
    )


def test_a_round_that_only_failed_says_nothing_of_lower_loads_unless_it_went_to_the_floor() -> None:
    good = round_of("narrow", r93=Decision.PASS, r96=Decision.FAIL)
    for ended in ("unknown", "time", "24 probes"):
        bad = round_of(ended, r90=Decision.FAIL, r70=Decision.UNKNOWN, r50=Decision.UNKNOWN)
        assert not bad.has_border
        hull = bracket([good, bad])
        assert hull is not None
        assert (hull.lo, hull.rounds) == (93, 1)
    floor = round_of("floor", r90=Decision.FAIL, r1=Decision.FAIL)
    assert floor.has_border
    assert bracket([floor, floor]).lo == 0  # type: ignore[union-attr]


def test_extremes_are_set_aside_only_while_the_coverage_stays() -> None:
    rounds = [
        round_of("narrow", **{f"r{90 + n}": Decision.PASS, f"r{100 + n}": Decision.FAIL})
        for n in range(8)
    ]
    hull = bracket(rounds)
    assert hull is not None
    # Of eight, one aside at each end: 1 - 2 * (1 + 8) / 2**8.
    assert hull.coverage == pytest.approx(1 - 2 * 9 / 256)
    assert (hull.lo, hull.hi) == (91, 106)
