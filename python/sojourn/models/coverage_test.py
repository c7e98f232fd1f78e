"""Coverage against drawn intervals whose truth is known: right, too narrow, shifted, too wide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sojourn.models.coverage import T_95, Coverage, accepted, covered, width_slack

RUNS, TRUTH, SD = 50, 100.0, 2.0


def results(*, width: float = 1.0, shift: float = 0.0, unknown: int = 0) -> list[dict[str, Any]]:
    """Estimates with a known scatter; intervals of `width` times what it asks for."""
    mids = TRUTH + shift * SD + SD * np.random.default_rng(5).standard_normal(RUNS)
    half = width * T_95 * SD
    rows = [{"mid": m, "lo": m - half, "hi": m + half} for m in mids.tolist()]
    closed = [{"exact": True, "p99": TRUTH}]
    return [
        {"intervals": {"p99": None if at < unknown else row}, "closed": closed}
        for at, row in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        ({}, "holds"),
        ({"width": 0.5}, "WRONG HITS"),
        ({"shift": 2.0}, "WRONG HITS"),
        ({"width": 2.0}, "WRONG WIDTH"),
        ({"unknown": 1}, "unknown"),
        ({"unknown": RUNS}, "unknown"),
    ],
)
def test_only_intervals_of_the_right_width_around_the_right_place_hold(
    made: dict[str, Any], verdict: str
) -> None:
    assert covered("p99", results(**made)).verdict == verdict


def test_the_region_leaves_out_half_a_percent_at_either_side() -> None:
    low, high = accepted(200)

    def mass(k: int) -> float:
        return math.comb(200, k) * 0.95**k * 0.05 ** (200 - k)

    assert sum(map(mass, range(low))) <= 0.005 < sum(map(mass, range(low + 1)))
    assert sum(map(mass, range(high + 1, 201))) <= 0.005 < sum(map(mass, range(high, 201)))


def test_a_queue_without_a_formula_is_an_error() -> None:
    with pytest.raises(ValueError, match="no closed form for p99"):
        covered("p99", [{"intervals": {"p99": None}, "closed": []}])


@pytest.mark.parametrize(
    ("width", "verdict"),
    [
        (0.75, "holds"),
        (1.25, "holds"),
        (0.72, "WRONG WIDTH"),
        (1.28, "WRONG WIDTH"),
        (math.nan, "holds"),
    ],
)
def test_widths_of_fifty_runs_lie_within_26_percent(width: float, verdict: str) -> None:
    assert Coverage("p99", RUNS, RUNS, 48, width).verdict == verdict
    assert width_slack(RUNS) == pytest.approx(2.576 / math.sqrt(98))


@pytest.mark.parametrize(("hits", "verdict"), [(42, "WRONG HITS"), (43, "holds"), (50, "holds")])
def test_hits_of_fifty_runs_are_43_or_more(hits: int, verdict: str) -> None:
    assert Coverage("p99", RUNS, RUNS, hits, 1.0).verdict == verdict
    assert Coverage("p99", RUNS, RUNS - 1, hits, 1.0).verdict == "unknown"


def rows(*intervals: tuple[float, float], truth: float = 1_000.0) -> list[dict[str, Any]]:
    closed = [
        {"exact": False, "p99": 1.0},
        {"exact": True, "p99": None},
        {"exact": True, "p99": truth},
    ]
    return [
        {"intervals": {"p99": {"lo": lo, "mid": (lo + hi) / 2, "hi": hi}}, "closed": closed}
        for lo, hi in intervals
    ]


def test_an_interval_reaches_a_bin_beyond_either_end() -> None:
    """A thousandth of 1,000: 999 to 1,001 at the most."""
    ends = ((990.0, 999.0), (990.0, 998.9), (1_001.0, 1_010.0), (1_001.1, 1_010.0))
    assert [covered("p99", rows(end)).hits for end in ends] == [1, 0, 1, 0]


def test_the_width_is_half_the_interval_over_what_the_scatter_asks_for() -> None:
    """Middles 990, 1,000, 1,010 have a deviation of 10; halves of 5, 10 and 15 a mean of 10."""
    coverage = covered("p99", rows((985, 995), (990, 1_010), (995, 1_025)))
    assert coverage.width == pytest.approx(1 / 2.04)
    assert (coverage.runs, coverage.known, coverage.hits) == (3, 3, 2)
    two = covered("p99", rows((985, 995), (990, 1_010)))
    assert math.isnan(two.width)
    assert math.isnan(covered("p99", rows((990, 1_010), (990, 1_010), (990, 1_010))).width)
    # Half a bin of width or less is an atom's, where scatter says nothing.
    atom = covered("p99", rows((999.5, 1_000.5), (999.0, 1_000.0), (1_000.0, 1_001.0)))
    assert math.isnan(atom.width)
    wide = covered("p99", rows((998.9, 1_001.1), (998.0, 1_000.2), (1_000.0, 1_002.2)))
    assert wide.width > 0
