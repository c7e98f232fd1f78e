"""Coverage against drawn intervals whose truth is known: right, too narrow, shifted, too wide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sojourn.models.coverage import T_95, accepted, covered

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
