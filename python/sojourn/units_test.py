"""What people type is understood, what is none is refused, what they read has three digits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn import units


@pytest.mark.parametrize("text", ["", "fast", "1e400", "NaN", "12parsecs", "inf"])
def test_what_is_no_quantity_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="30s"):
        units.parse_ns(text)
    with pytest.raises(ValueError, match="50k"):
        units.parse_count(text)


def test_negative_times_and_sizes_are_refused() -> None:
    for parse in (units.parse_ns, units.parse_bytes):
        with pytest.raises(ValueError, match="negative"):
            parse("-1")


@given(st.floats(1, 1e12))
def test_what_is_shown_is_what_was_meant_to_three_digits(ns: float) -> None:
    shown = units.show_ns(ns)
    assert units.parse_ns(shown) == pytest.approx(ns, rel=0.006, abs=1)


@given(st.floats(1e-3, 1e12))
def test_a_bound_that_is_shown_still_holds(value: float) -> None:
    hair = 1e-5  # of the last digit: what binary fractions may be off
    scale = units.parse_count("1" + units.show_count(value).lstrip("0123456789."))
    for way in (-1, 1):
        times = units.parse_ns(units.show_ns(value, way)) - value
        counts = units.parse_count(units.show_count(value, way)) - value
        assert way * times >= -1, "parsed to whole ns"
        assert way * counts >= -hair * scale
        assert abs(counts) <= 0.0101 * max(value, 1), "three digits, beside 1 a hundredth"


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [
        (282_000, "282k", "282k"),
        (281_427, "281k", "282k"),
        (99_960, "99.9k", "100k"),
        (9_996, "9.99k", "10.0k"),
        (9_991, "9.99k", "10.0k"),
        (5_001, "5.00k", "5.01k"),
        (9_000, "9k", "9k"),
        (100_000, "100k", "100k"),
        (0.3, "0.30", "0.30"),
        (999.6, "999", "1000"),
    ],
)
def test_a_bound_has_three_digits_and_an_exact_one_stays(value: float, down: str, up: str) -> None:
    assert (units.show_count(value, -1), units.show_count(value, 1)) == (down, up)


def test_a_time_that_needs_a_unit_is_not_read_as_seconds() -> None:
    assert units.parse_ns("500us", needs_unit=True) == 500_000
    for bare in ("500", "500.", "5e2"):
        with pytest.raises(ValueError, match="no unit"):
            units.parse_ns(bare, needs_unit=True)


@pytest.mark.parametrize("text", ["1e300s", "1e308h", "-1e305min"])
def test_a_number_that_its_unit_makes_infinite_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        units.parse_ns(text)


def test_infinite_times_stay_infinite() -> None:
    assert units.show_ns(float("inf")) == "inf"


def test_lengths_for_people() -> None:
    assert [units.show_s(s) for s in (8.4, 60, 754, 12_000)] == [
        "8 s",
        "1 min",
        "12 min 34 s",
        "3 h 20 min",
    ]
