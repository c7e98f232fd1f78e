"""The interval holds what restarts do, the truth, and the next search's."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from sojourn.analysis import max_load
from sojourn.analysis.findings import MaxLoad
from sojourn.analysis.study import study
from sojourn.analysis.testing import measured, memcached, run_study, study_of
from sojourn.plan.make import point
from sojourn.plan.points import Outcome, Phase, Verdict
from sojourn.spec import Goal

CAPACITY = 8_000.0
TRUTH = CAPACITY - math.log(100) / 1e-3  # M/M/1: p99 = ln 100 / (μ − λ) = 1 ms


def search(seed: int) -> MaxLoad:
    asked = study_of(memcached(measure=[Goal.MAX_LOAD]), name="max_load")
    found = study(run_study(asked, capacity_rps=CAPACITY, seed=seed, spread=0.05))
    most = found.services[0].max_load
    assert most is not None
    return most


def test_two_searches_in_a_row_overlap_and_hold_the_truth() -> None:
    """Restarts differ by 5 %. Of eight intervals one may miss the truth; no two may part."""
    found = [search(seed) for seed in range(8)]
    intervals = [most.interval_rps for most in found if most.verdict is Verdict.HOLDS]
    assert len(intervals) >= 7
    known = [i for i in intervals if i is not None]
    assert sum(i.lo <= TRUTH <= i.hi for i in known) >= len(known) - 1
    assert all(max(a.lo, b.lo) <= min(a.hi, b.hi) for a, b in combinations(known, 2))


def test_students_interval_needs_three_rounds() -> None:
    assert max_load.spread([100.0, 104.0]) is None
    found = max_load.spread([100.0, 100.0, 100.0])
    assert found is not None
    assert (found.lo, found.hi) == pytest.approx((100, 100))


def probe(rps: float, missed: int, *, of: int = 10_000, valid: bool = True) -> Outcome:
    asked = study_of(memcached())
    planned = point(
        asked, f"memcached/search/r0/p{rps:g}", Phase.SEARCH, measure_s=1, offered_rps=rps
    )
    times = [1e5] * (of - missed) + [2e6] * missed
    verdict = Verdict.HOLDS if valid else Verdict.UNKNOWN
    return measured(planned, np.array(times), bound_ns=1e6, verdict=verdict).outcome


def test_the_isotonic_crossing_lies_between_pass_and_fail() -> None:
    probes = [probe(100, 10), probe(200, 50), probe(300, 200), probe(400, 900)]
    assert max_load.isotonic_crossing(probes, 0.99) == pytest.approx(math.sqrt(200 * 300))


def test_contradicting_probes_are_pooled_by_weight() -> None:
    """200 fails, 300 passes clearly: together they miss less than 1 %, so the border is above."""
    probes = [probe(100, 10), probe(200, 150), probe(300, 20, of=20_000), probe(400, 900)]
    assert max_load.isotonic_crossing(probes, 0.99) == pytest.approx(math.sqrt(300 * 400))


def test_unknown_probes_decide_nothing() -> None:
    probes = [probe(100, 10), probe(200, 900, valid=False), probe(300, 900)]
    assert max_load.isotonic_crossing(probes, 0.99) == pytest.approx(math.sqrt(100 * 300))
    assert max_load.isotonic_crossing([probe(100, 10)], 0.99) is None
