"""Heads in throws of a coin: intervals of medians and of signs rest on them.

`plan` asks for the coverage of a bracket, and `stats` for that of a median of blocks.
"""

from __future__ import annotations

import math


def below(heads: int, throws: int) -> float:
    """Probability of fewer heads than these in so many throws of a coin.

    >>> below(1, 2), below(0, 5), below(3, 2)
    (0.25, 0.0, 1.0)
    """
    return float(sum(math.comb(throws, k) for k in range(heads)) / 2**throws)


def outside(throws: int, coverage: float) -> int:
    """The rank, from either end, of the values that enclose the median; 0: there are too few.

    >>> outside(5, 0.95), outside(6, 0.95), outside(9, 0.95)
    (0, 1, 2)
    """
    edge = (1 - coverage) / 2
    return next(k for k in range(throws + 1) if below(k + 1, throws) > edge)
