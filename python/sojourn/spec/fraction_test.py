"""Fractional designs against textbook tables, and against the columns themselves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sojourn.spec import fraction
from sojourn.spec.fraction import Fraction, Word


@pytest.mark.parametrize(
    ("k", "p", "resolution"),
    [
        (3, 1, 3),
        (4, 1, 4),
        (5, 1, 5),
        (5, 2, 3),
        (6, 1, 6),
        (6, 2, 4),
        (6, 3, 3),
        (7, 1, 7),
        (7, 2, 4),
        (7, 3, 4),
        (7, 4, 3),
        (8, 2, 5),
        (8, 3, 4),
        (8, 4, 4),
    ],
)
def test_the_best_fraction_has_the_resolution_of_the_textbook(
    k: int, p: int, resolution: int
) -> None:
    """Box, Hunter and Hunter (2005), table 6.22."""
    result = fraction.best(k, p)
    assert result.resolution == resolution
    assert len(result.runs) == len(set(result.runs)) == 2 ** (k - p)


def test_the_textbook_s_fraction_of_7_3_has_the_fewest_short_words() -> None:
    """Minimum aberration: 2^(7-2) has one word of four letters, 2^(7-3) has seven."""
    lengths = [w.bits.bit_count() for w in fraction.best(7, 2).relation]
    assert lengths.count(4) == 1
    lengths = [w.bits.bit_count() for w in fraction.best(7, 3).relation]
    assert lengths.count(4) == 7


def column(result: Fraction, bits: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Product of the factors' columns (levels as −1 and +1), one element a run."""
    levels = 2 * np.array(result.runs) - 1
    chosen = [n for n in range(result.k) if bits >> n & 1]
    return np.asarray(np.prod(levels[:, chosen], axis=1))


@pytest.mark.parametrize(
    "result",
    [fraction.best(6, 2), fraction.named(4, ["D=-ABC"]), fraction.named(5, ["D=AB", "E=-AC"])],
)
def test_aliases_are_the_columns_that_are_equal(result: Fraction) -> None:
    effects = [1 << n for n in range(result.k)]
    effects += [a | b for a, b in itertools.combinations(effects, 2)]
    for bits in effects:
        aliased = {(word.bits, word.sign) for word in result.aliases(bits)}
        same = set()
        for other in effects:
            dot = int(column(result, bits) @ column(result, other))
            if other != bits and dot:
                assert abs(dot) == len(result.runs)
                same.add((other, dot // len(result.runs)))
        assert aliased == same


def test_generators_are_read_and_reported() -> None:
    result = fraction.named(4, ["D = ABC"])
    assert result.text == "2^(4-1), resolution IV, D=ABC"
    assert result.relation == (Word(0b1111),)
    assert result.confounded == ("AB = CD", "AC = BD", "AD = BC")


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        (["D=ABE"], "not a generator of 4"),
        (["ABC"], "not a generator"),
        (["D=A"], "resolution II"),
        (["D=AB", "C=AD"], "generated factor"),
        (["D=AB", "D=AC"], "two generators"),
        (["D=AA"], "generated factor"),
        (["C=AB", "D=AB"], "resolution II"),
    ],
)
def test_what_generates_nothing_is_refused(texts: list[str], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        fraction.named(4, texts)


def test_too_small_a_fraction_says_how_small_it_may_be() -> None:
    with pytest.raises(ValueError, match="use p = 1 to 4"):
        fraction.best(7, 5)
    with pytest.raises(ValueError, match="full"):
        fraction.best(2, 1)
