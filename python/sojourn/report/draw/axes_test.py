import math

from hypothesis import given
from hypothesis import strategies as st

from sojourn.report.draw.axes import time_axis

TIMES = st.lists(st.floats(1, 1e12), min_size=1, max_size=20)


@given(TIMES)
def test_an_axis_holds_its_values_and_is_not_much_wider(values: list[float]) -> None:
    axis = time_axis(values)
    assert axis.lo <= min(values)
    assert axis.hi >= max(values)
    assert axis.lo * 5.001 >= min(values)
    assert axis.hi <= max(values) * 5.001
    assert axis.lo < axis.hi
    assert all(axis.lo * 0.999 <= tick <= axis.hi * 1.001 for tick in axis.ticks)
    assert len(axis.ticks) >= 1


@given(TIMES)
def test_what_has_no_place_is_put_at_an_edge(values: list[float]) -> None:
    axis = time_axis([*values, math.inf, None])
    assert axis.place(math.inf) == axis.hi
    assert axis.place(None) is None  # nothing is drawn on the floor
    assert all(axis.place(value) == value for value in values)


def test_an_axis_of_nothing_still_is_one() -> None:
    axis = time_axis([None, math.inf])
    assert 0 < axis.lo < axis.hi


def test_an_axis_has_no_place_for_what_is_shorter_than_a_nanosecond() -> None:
    axis = time_axis([5e-324, 1e5, 1e6])
    assert (axis.lo, axis.hi) == (1e5, 1e6)
    assert axis.place(5e-324) == axis.lo
