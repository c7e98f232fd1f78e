"""The load at which a tail meets its bound, against tails that are known."""

import math

import pytest

from sojourn.foresight import curves
from sojourn.foresight.victims import Run


def runs(*points: tuple[float, float]) -> list[Run]:
    return [Run(rps=rps, achieved_rps=rps, tails={0.99: ns}) for rps, ns in points]


def test_the_border_of_a_line_is_on_the_line() -> None:
    curve = curves.of(runs((100, 1e6), (200, 1e7), (300, 1e8)), 0.99, 300)
    assert curve.border(1e7)[0] == pytest.approx(200)
    border, where = curve.border(math.sqrt(1e6 * 1e7))
    assert border == pytest.approx(150)
    assert not where
    assert curve.tail_ns(250) == pytest.approx(math.sqrt(1e7 * 1e8))


def test_a_tail_that_falls_by_chance_is_made_to_rise() -> None:
    curve = curves.of(runs((100, 2e6), (200, 1e6), (300, 1e8)), 0.99, 300)
    assert list(curve.logs[:2]) == [pytest.approx(math.log(math.sqrt(2e12)))] * 2


def test_what_lies_outside_the_measured_loads_is_said() -> None:
    curve = curves.of(runs((100, 1e6), (200, 1e7)), 0.99, 200)
    assert curve.border(5e5) == (50, "below")
    assert curve.border(5e7) == (200, "above")


def test_beyond_the_highest_load_the_line_leads_to_the_peak() -> None:
    curve = curves.of(runs((100, 1e6), (200, 1e7)), 0.99, 400)
    border, where = curve.border(1e8)
    assert border == pytest.approx(300)
    assert where == "beyond", "no load between 200 and 400 was measured"
    assert not curve.border(9e6)[1]
    assert curve.tail_ns(400) == pytest.approx(curves.TOP_NS)


def test_lost_requests_are_a_tail_without_end() -> None:
    curve = curves.of(runs((100, 1e6), (200, math.inf)), 0.99, 200)
    assert curve.tail_ns(200) == pytest.approx(curves.TOP_NS)


def test_a_bound_beyond_the_longest_tail_ends_where_the_queue_grows() -> None:
    """Alone the queue grows at the peak, and beside a neighbour from 200/s on."""
    alone = curves.of(runs((100, 1e6), (200, 1e7), (300, 1e8)), 0.99, 400)
    beside = curves.of(runs((100, 1e6), (200, math.inf), (300, math.inf)), 0.99, 400)
    for bound_ns in (curves.TOP_NS, 2 * curves.TOP_NS):
        for curve, rps, way in ((alone, 400, "beyond"), (beside, 200, "")):
            border, where = curve.border(bound_ns)
            assert border == pytest.approx(rps, rel=1e-3)
            assert where == way
