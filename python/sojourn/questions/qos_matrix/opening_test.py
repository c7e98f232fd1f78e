"""The first screen of a matrix: what is open bounds what it says."""

from __future__ import annotations

from dataclasses import replace

from sojourn.questions.qos_matrix import judge, opening
from sojourn.questions.qos_matrix.matrix import BOTH, NONE, OPEN, Matrix, MatrixCell
from sojourn.questions.testing_state import made

LOADS = (0.1, 0.3, 0.6)


def matrix(*rows: str) -> Matrix:
    """Cells by row: b: both fit, n: neither, o: open."""
    meets = {"b": BOTH, "n": NONE, "o": OPEN}
    cells = tuple(
        made(MatrixCell, row=row, column=column, meets=meets[sign], chances=(0.5, 0.5))
        for row, signs in zip(LOADS, rows, strict=True)
        for column, sign in zip(LOADS, signs, strict=True)
    )
    return made(
        Matrix,
        services=("a", "b"),
        under="",
        cells=cells,
        measurements=1,
        grid=9,
        levels=(("services.a.knobs.policy", "fifo:1"),),
    )


def test_a_load_below_an_open_one_is_a_bound() -> None:
    sure, open_ = matrix("bbn", "bnn", "nnn"), matrix("bbn", "bon", "onn")
    first, second = list(opening._sentences(sure, [sure]))[:2]
    assert first == "Both fit with a up to 30 % load beside b at 10 %, and up to 10 % beside 30 %."
    assert second == "The most load that fits together is a at 10 % with b at 30 %."
    first, second = list(opening._sentences(open_, [open_]))[:2]
    assert first.startswith("Both fit with a up to at least 30 % load beside b at 10 %, and up to")
    assert "at least 10 % beside 30 %" in first
    assert second.startswith("The most load that surely fits together is ")
    rows = [row[1] for row in opening._table(open_).rows]
    assert rows == ["30 % or more", "10 % or more", "at no load"]
    assert "The most that surely fits is a" in judge.in_words(open_)
    assert "The most that fits is a" in judge.in_words(sure)


def test_of_several_settings_the_best_is_named_only_where_open_pairs_cannot_change_it() -> None:
    best, other = matrix("bbb", "bbn", "nnn"), matrix("bbn", "onn", "nnn")
    said, *_ = opening._sentences(best, [best, other])
    assert said == "Of 2 settings most pairs fit with a FIFO: 5 of 9."
    other = matrix("bbo", "oon", "onn")
    said, *_ = opening._sentences(best, [best, other])
    assert said == "Which of 2 settings fits most pairs is open; with a FIFO surely 5 of 9 fit."


def test_settings_that_fit_as_many_pairs_are_not_ranked() -> None:
    one, other = matrix("bbb", "bbn", "nnn"), matrix("bbn", "bbn", "bnn")
    may = matrix("bbn", "bon", "onn")
    for two in (other, may):
        for order in ([one, two], [two, one]):
            best = opening._best(order)
            said, *_ = opening._sentences(best, order)
            assert said == "Of 2 settings none fits more pairs of loads than a FIFO: 5 of 9."


def test_up_to_a_load_means_from_the_lowest_load_on() -> None:
    """Where more load does not always make it worse, a pair may fit above one that does not."""
    gap = matrix("bnn", "nbn", "bnn")
    assert opening.frontier(gap) == [(0.1, 0.1)]
    first, second, *_ = opening._sentences(gap, [gap])
    assert first == "Both fit with a up to 10 % load beside b at 10 %."
    assert second == "The most load that fits together is a at 60 % with b at 10 %."
    rows = [row[1:] for row in opening._table(gap).rows]
    assert rows[0][0] == "10 %"
    assert rows[1][0] == "not at its lowest load, but above"
    assert rows[2] == ("at no load", "a and b")
    above = matrix("nnn", "bnn", "nnn")
    assert opening.frontier(above) == []
    first, *_ = opening._sentences(above, [above])
    assert first == "The most load that fits together is a at 30 % with b at 10 %."


def test_both_sentences_about_the_most_name_one_pair() -> None:
    """In floating point 0.1 + 0.6 is above 0.3 + 0.4, and by row the last of equal sums."""
    cells = tuple(
        made(MatrixCell, row=row, column=column, meets=BOTH, chances=(1.0, 1.0))
        for row, column in ((0.1, 0.6), (0.3, 0.4), (0.6, 0.1))
    )
    one = made(Matrix, services=("a", "b"), under="", cells=cells, measurements=1, grid=3)
    one = replace(one, levels=())
    assert "The most that fits is a at 30 % with b at 40 %." in judge.in_words(one)
    said = list(opening._sentences(one, [one]))
    assert "The most load that fits together is a at 30 % with b at 40 %." in said
