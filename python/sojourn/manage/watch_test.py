"""What a look has of a group that is not read from the kernel."""

from __future__ import annotations

import pytest

from sojourn.controllers.look import Window
from sojourn.manage.watch import of_load


@pytest.mark.parametrize(
    ("lengths_ms", "used_ms"),
    [
        ((100, 500, 1000, 2000, 15_000), 1000),
        ((1003, 2006, 14_040), 1003),
        ((100, 500), 500),
        ((5010, 15_030), 5010),
        ((170,), 170),
    ],
)
def test_the_load_is_that_of_about_a_second(lengths_ms: tuple[int, ...], used_ms: int) -> None:
    windows = tuple(Window(length_ms=one, n=one) for one in lengths_ms)
    assert of_load(windows).length_ms == used_ms
