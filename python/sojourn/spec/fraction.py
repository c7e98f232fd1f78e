"""Fractional designs 2^(k−p): a part of all combinations that still tells the factors apart.

Of k factors with two levels each, p take their level from a product of others: with `D = ABC` the
column of D is that of A, B and C multiplied (levels as −1 and +1). What is multiplied to a column
of ones is a *word*; words and their products are the defining relation, the shortest of them is the
*resolution*, and an effect times a word is its alias: the two cannot be distinguished.

Factors are named A, B, C, … in the study's order; I is left out, it is the column of ones.

Source: Box, Hunter and Hunter, Statistics for Experimenters, 2nd ed. (2005), chapter 6.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
SEARCH_MAX = 20_000  # sets of generators that are compared; a study with more names its own
_GENERATOR = re.compile(r"\s*([A-Z])\s*=\s*(-?)\s*([A-Z]+)\s*")
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")


@dataclass(frozen=True, slots=True)
class Word:
    """A product of columns: one bit for each factor, and whether it is all −1 instead of +1."""

    bits: int
    sign: int = 1

    def __mul__(self, other: Word) -> Word:
        return Word(self.bits ^ other.bits, self.sign * other.sign)

    @property
    def text(self) -> str:
        """Its letters with its sign, as `ABC` or `-ABC`."""
        names = "".join(letter for n, letter in enumerate(LETTERS) if self.bits >> n & 1)
        return f"{'-' if self.sign < 0 else ''}{names}"


@dataclass(frozen=True, slots=True)
class Fraction:
    """A fraction of the full design.

    Attributes:
        k: number of factors.
        generators: of each generated factor (its number), the product that it takes its level from.
    """

    k: int
    generators: tuple[tuple[int, Word], ...]

    @property
    def relation(self) -> tuple[Word, ...]:
        """The defining relation: all products of words, the shortest first."""
        words = [Word(1 << factor) * word for factor, word in self.generators]
        chosen = (c for n in range(1, len(words) + 1) for c in itertools.combinations(words, n))
        results = (reduce(lambda one, other: one * other, some) for some in chosen)
        return tuple(sorted(results, key=lambda word: (word.bits.bit_count(), word.text)))

    @property
    def resolution(self) -> int:
        """Length of the shortest word; a full design has none and counts as k + 1."""
        return min((word.bits.bit_count() for word in self.relation), default=self.k + 1)

    @property
    def runs(self) -> tuple[tuple[int, ...], ...]:
        """The combinations: for each factor 0 (first level) or 1 (second)."""
        generated = dict(self.generators)
        free = [n for n in range(self.k) if n not in generated]
        results = []
        for levels in itertools.product((0, 1), repeat=len(free)):
            run = dict(zip(free, levels, strict=True))
            for factor, word in self.generators:
                low = sum(1 - run[n] for n in free if word.bits >> n & 1)
                run[factor] = int((-1) ** low * word.sign > 0)
            results.append(tuple(run[n] for n in range(self.k)))
        return tuple(results)

    def aliases(self, bits: int, order: int = 2) -> tuple[Word, ...]:
        """The effects of at most `order` factors that cannot be told from the one of `bits`."""
        results = (Word(bits) * word for word in self.relation)
        return tuple(word for word in results if word.bits.bit_count() <= order)

    @property
    def confounded(self) -> tuple[str, ...]:
        """Effects of one and two factors that cannot be distinguished: `AB = CD`, each once."""
        results: list[str] = []
        seen: set[int] = set()
        effects = (c for n in (1, 2) for c in itertools.combinations(range(self.k), n))
        for effect in effects:
            bits = sum(1 << factor for factor in effect)
            others = self.aliases(bits)
            if others and bits not in seen:
                seen |= {bits, *(word.bits for word in others)}
                results.append(" = ".join(word.text for word in (Word(bits), *others)))
        return tuple(results)

    @staticmethod
    def named(factors: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """(letter, factor) of each factor, in the order of the study."""
        return tuple(zip(LETTERS, factors, strict=False))

    @property
    def text(self) -> str:
        """Its size, resolution and generators, as `2^(4-1), resolution IV, D=ABC`."""
        p = len(self.generators)
        message = ", ".join(f"{LETTERS[factor]}={word.text}" for factor, word in self.generators)
        return f"2^({self.k}-{p}), resolution {roman(self.resolution)}, {message}"


def roman(resolution: int) -> str:
    """A resolution as textbooks write it."""
    return _ROMAN[resolution] if resolution < len(_ROMAN) else str(resolution)


def named(k: int, texts: Sequence[str]) -> Fraction:
    """The fraction with these generators, such as "D=ABC" or "E=-AB".

    Raises:
        ValueError: one is no generator of k factors; what and how to fix it, split by "; ".
    """
    letters = LETTERS[:k]
    generators: list[tuple[int, Word]] = []
    for text in texts:
        match = _GENERATOR.fullmatch(text)
        if not match or not set(match[1] + match[3]) <= set(letters):
            raise ValueError(
                f"'{text}' is not a generator of {k} factors; write {letters[-1]}={letters[:-1]}: "
                f"the factors are {letters[0]} to {letters[-1]} in their order"
            )
        bits = reduce(lambda one, letter: one ^ 1 << LETTERS.index(letter), match[3], 0)
        generators.append((LETTERS.index(match[1]), Word(bits, -1 if match[2] else 1)))
    generated = [factor for factor, _ in generators]
    for factor, word in generators:
        if any(word.bits >> n & 1 for n in generated) or not word.bits:
            raise ValueError(
                f"{LETTERS[factor]}={word.text} is made of a generated factor; "
                "make each of factors that have no generator"
            )
    if len(set(generated)) < len(generated):
        raise ValueError("a factor has two generators; give each factor one at most")
    fraction = Fraction(k, tuple(generators))
    if fraction.resolution < 3:
        raise ValueError(
            f"the design has resolution {roman(fraction.resolution)}: two factors always change "
            "together; use generators of two letters or more that differ in more than one"
        )
    return fraction


def best(k: int, p: int) -> Fraction:
    """The fraction of 2^(k−p) combinations with the highest resolution, then the fewest such words.

    Raises:
        ValueError: there is none of resolution III, or too many to compare.
    """
    free = k - p
    wide = (bits for bits in range(1 << max(0, free)) if bits.bit_count() >= 2)
    words = sorted(wide, key=lambda bits: (-bits.bit_count(), bits))
    if p < 1 or len(words) < p:
        least = next(n for n in range(1, k + 1) if 2**n - 1 >= k)
        raise ValueError(
            f"p = {p} leaves too few combinations for {k} factors; "
            + (f"use p = 1 to {k - least}" if k > least else 'use kind = "full"')
        )
    if math.comb(len(words), p) > SEARCH_MAX:
        raise ValueError(f"2^({k}-{p}) has too many fractions to compare; name its generators")
    fractions = (
        Fraction(k, tuple((free + n, Word(bits)) for n, bits in enumerate(chosen)))
        for chosen in itertools.combinations(words, p)
    )
    return max(fractions, key=_merit)


def _merit(fraction: Fraction) -> tuple[int, ...]:
    """Lengths of the words from the shortest: longer is better, then fewer (least aberration)."""
    lengths = [word.bits.bit_count() for word in fraction.relation]
    return tuple(-lengths.count(length) for length in range(1, fraction.k + 1))
