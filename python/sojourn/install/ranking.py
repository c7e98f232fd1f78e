"""Which passages answer a query best: BM25 again, in another language than the server's.

It is what the answers of the search service are held against when it is made, once.

Source: Robertson, Walker, Jones, Hancock-Beaulieu, Gatford, "Okapi at TREC-3", 1994; parameters and
the floor of rare words are those of Xapian 1.4, weight/bm25weight.cc.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sojourn import late

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late.module("numpy")

K1, K3, B, NORMLEN_MIN = 1.0, 1.0, 0.5, 0.5
TERMS = 3
BEST = 10  # passages of an answer
SEED = 2
RAREST = 20  # passages that a term is in
COMMONEST = 0.25  # share of all passages
LETTERS_MIN = 3
TIE = 1e-9
NEAR = 1e-3  # weights are written with four digits after the point


def queries(passages: Sequence[str], count: int) -> tuple[str, ...]:
    """Queries of three terms, drawn as often as they are used; no stop words, no rarities.

    Args:
        passages: of words apart by spaces.
        count: how many queries.

    Raises:
        ValueError: the passages have too few words of that kind.
    """
    spread = Counter(word for passage in passages for word in set(passage.split()))
    suited = {
        word
        for word, often in spread.items()
        if len(word) >= LETTERS_MIN and RAREST <= often <= COMMONEST * len(passages)
    }
    if len(suited) < TERMS:
        raise ValueError(f"{len(passages)} passages have {len(suited)} words to be asked for")
    drawn = random.Random(SEED)  # noqa: S311  # not a secret
    made: list[str] = []
    while len(made) < count:
        terms: set[str] = set()
        while len(terms) < TERMS:
            word = drawn.choice(drawn.choice(passages).split())
            if word in suited:
                terms.add(word)
        made.append(" ".join(sorted(terms)))
    return tuple(made)


class Ranking:
    """Weights of all passages for queries whose terms were given beforehand."""

    def __init__(self, passages: Sequence[str], terms: Sequence[str]) -> None:
        wanted = set(terms)
        self._postings: Mapping[str, dict[int, int]] = {term: {} for term in wanted}
        lengths = np.empty(len(passages))
        for at, passage in enumerate(passages):
            words = passage.split()
            lengths[at] = len(words)
            for word in words:
                if word in wanted:
                    held = self._postings[word]
                    held[at] = held.get(at, 0) + 1
        normal = np.maximum(lengths / lengths.mean(), NORMLEN_MIN)
        self._damping = K1 * (normal * B + (1.0 - B))

    def weights(self, query: str) -> NDArray[np.float64]:
        """The weight of each passage, shape (n,), in their order; 0: it has none of the terms."""
        total: NDArray[np.float64] = np.zeros(len(self._damping), np.float64)
        for term in query.split():
            held = self._postings[term]
            places = np.fromiter(held, np.int64, len(held))
            often = np.fromiter(held.values(), np.float64, len(held))
            odds = (len(total) - len(held) + 0.5) / (len(held) + 0.5)
            rarity = np.log(odds if odds >= 2.0 else 0.5 * odds + 1.0)
            total[places] += (K1 + 1.0) * rarity * often / (self._damping[places] + often)
        return total

    def explains(self, query: str, texts: Sequence[tuple[int, float]]) -> bool:
        """Whether these are the ten best passages (number from 1, weight), or all, in their order.

        Passages of one weight may stand in any order.
        """
        weights = self.weights(query)
        result = min(BEST, int(np.count_nonzero(weights)))
        best = -np.sort(-weights)[:result]
        places = np.array([number - 1 for number, _ in texts], np.int64)
        if not texts or result != len(texts) or len(set(places)) < len(texts):
            return False
        report = np.array([weight for _, weight in texts])
        is_best = bool(np.all(np.abs(weights[places] - best) <= TIE))
        return is_best and bool(np.all(np.abs(report - best) <= NEAR))
