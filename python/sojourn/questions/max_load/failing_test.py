"""A whole search of a service that fails by itself at every load."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.plan import Outcome, Point, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import play
from sojourn.questions import PLANS
from sojourn.questions.max_load.worst_test import judged, quick


def failing(point: Point, every: int) -> Outcome:
    """One request of so many is cut off, from first to last: no gap divides the misses."""
    one = imagine(point)
    failed = one.requests // every
    if one.over_bound is None or failed <= one.over_bound:
        return replace(one, lost=failed, failed=failed)
    is_over = failed > 0.01 * one.requests
    verdict = Verdict.VIOLATED if is_over else one.verdict
    return replace(one, lost=failed, failed=failed, over_bound=failed, clusters=(failed,),
                   verdict=verdict)  # fmt: skip


def test_one_of_twenty_at_every_load_fits_at_none() -> None:
    """It was shown to fail at no load, so "at least N requests/s" fitted."""
    of = quick()
    found = judged(of, play(of, lambda point: failing(point, 20), PLANS))
    assert found.verdict is Verdict.VIOLATED
    assert found.border is not None
    assert found.border.interval_rps.hi == 0


@pytest.mark.parametrize("every", [1000, 10**9])
def test_what_the_target_allows_to_fail_changes_nothing(every: int) -> None:
    of = quick()
    found = judged(of, play(of, lambda point: failing(point, every), PLANS))
    assert found.verdict is Verdict.HOLDS
    assert found.border is not None
    assert found.border.interval_rps.lo > 0
