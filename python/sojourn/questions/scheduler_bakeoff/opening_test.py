"""Which setting carries most is open where open pairs can change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from sojourn.questions.scheduler_bakeoff import judge, opening, section
from sojourn.questions.scheduler_bakeoff.judge import Bakeoff, Candidate
from sojourn.questions.testing_state import made


def candidates(*numbers: tuple[int | None, int]) -> Sequence[Candidate]:
    """A setting for each (pairs that fit, pairs that are open) of nine."""
    return [
        made(
            Candidate,
            name=f"s{nth}",
            properties=(),
            paper=(),
            fits=fits,
            cells=9,
            open=still,
            most=None if fits is None else 0.5,
            levels=(),
        )
        for nth, (fits, still) in enumerate(numbers)
    ]


@pytest.mark.parametrize(
    ("numbers", "headline"),
    [
        (((6, 0), (3, 3)), "S0 carries most: 6 of 9 pairs of loads"),
        (((6, 2), (3, 3)), "S0 carries most: at least 6 of 9 pairs of loads"),
        (((6, 0), (6, 0), (3, 0)), "2 of 3 settings carry most: 6 of 9 pairs of loads"),
        (((6, 0), (3, 4)), "Which setting carries most is open: 2 of 2 may"),
        (((6, 1), (6, 1), (1, 1)), "Which setting carries most is open: 2 of 3 may"),
        (((6, 0), (None, 9)), "Which setting carries most is open: 2 of 2 may"),
        (((9, 0), (None, 9)), "S0 carries most: 9 of 9 pairs of loads"),
        (((None, 9), (None, 9)), "2 scheduler settings, none with a matrix"),
    ],
)
def test_a_setting_with_open_pairs_may_carry_more(
    numbers: tuple[tuple[int | None, int], ...], headline: str
) -> None:
    assert opening._headline(candidates(*numbers)) == headline


def test_the_sentence_says_what_may_fit_where_the_order_is_open() -> None:
    each = tuple(candidates((6, 0), (3, 4)))
    first, *_ = opening._sentences(made(Bakeoff, candidates=each, disagreements=()))
    assert first == "Most may fit with s0 and s1: 3 to 7 of 9 pairs of loads."


def test_a_setting_without_a_matrix_may_carry_all_pairs() -> None:
    each = tuple(candidates((6, 0), (None, 9)))
    first, *_ = opening._sentences(made(Bakeoff, candidates=each, disagreements=()))
    assert first == "Most may fit with s0 and s1: 0 to 9 of 9 pairs of loads."


def test_the_most_together_is_a_bound_where_pairs_are_open() -> None:
    sure, open_ = candidates((6, 0), (6, 1))
    assert (opening._most(sure), opening._most(open_)) == ("50 %", "at least 50 %")
    assert section.most_together(open_) == "50 % or more"
    both = made(Bakeoff, candidates=(sure, open_), disagreements=())
    assert [row[2] for row in section._matrices(both).rows] == ["50 %", "50 % or more"]


def test_of_settings_that_fit_as_many_pairs_no_one_gets_the_load_of_another() -> None:
    one, other = candidates((6, 0), (6, 0))
    each = (replace(one, most=1.2), replace(other, most=0.9))
    for order in (each, each[::-1]):
        first, *_ = opening._sentences(made(Bakeoff, candidates=order, disagreements=()))
        assert first.startswith("With ")
        assert first.endswith(" up to 90 % load of both together fits.")


def test_a_setting_without_a_matrix_has_all_its_pairs_open() -> None:
    one = judge._candidate({}, (), {}, "s", 9)
    assert (one.fits, one.cells, one.open) == (None, 9, 9)
