"""A contrast where no two blocks have all of its combinations: each block adds what it has.

log t = block + combination, by least squares over all runs there are. The contrast of the
combinations' terms is the effect; what the runs lie off the fit is its error, with n − rank degrees
of freedom. Of whole blocks it is the mean of the blocks' own contrasts (tested).

Source: Montgomery, Design and Analysis of Experiments, 8th ed. (2013), 4.4 (incomplete blocks) and
10.3 (regression); the general linear hypothesis: Searle, Linear Models (1971), 5.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sojourn.half_width import student
from sojourn.stats.interval import Interval, around, raised
from sojourn.stats.log_ratio_contrasts import BLOCKS_MIN, Blocks, Contrast
from sojourn.stats.symmetry_bets import VARIANCE_LEAST

_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Fitted:
    """A ratio of two levels with its interval.

    Attributes:
        blocks: that add to it.
        spread: as of `Contrast.spread`.
    """

    ratio: float
    interval: Interval
    blocks: int
    spread: float


def fitted(contrast: Contrast, values: Blocks) -> Fitted | None:
    """What all blocks together say of two levels; None if that is nothing, or one is infinite.

    Args:
        contrast: the levels.
        values: positive numbers by block and combination; those that are missing are left out.
    """
    runs = [(block, cell, t) for block, result in values.items() for cell, t in result.items()]
    cells = list(dict.fromkeys(cell for _, cell, _ in runs))
    blocks = list(dict.fromkeys(block for block, _, _ in runs))
    weights = contrast.weights(dict.fromkeys(cells, 1.0))
    if weights is None or len(blocks) < BLOCKS_MIN or not all(math.isfinite(t) for *_, t in runs):
        return None
    x = np.zeros((len(runs), len(blocks) + len(cells)))
    for row, (block, cell, _) in enumerate(runs):
        x[row, blocks.index(block)] = x[row, len(blocks) + cells.index(cell)] = 1
    y = np.log([t for *_, t in runs])
    asked = np.array([0.0] * len(blocks) + [weights.get(cell, 0.0) for cell in cells])
    inverse = np.linalg.pinv(x)
    freedom = len(runs) - int(np.linalg.matrix_rank(x))
    if freedom < 1 or not np.allclose(asked @ inverse @ x, asked, atol=_TINY):
        return None
    terms = inverse @ y
    # A log ratio is of two runs, and scatters by the digits in which times are stored at least.
    variance = max(float(np.sum((y - x @ terms) ** 2)) / freedom, VARIANCE_LEAST)
    share = float(np.sum((asked @ inverse) ** 2))  # c'(X'X)⁻c
    mean = float(asked @ terms)
    half = student(freedom) * math.sqrt(variance * share)
    return Fitted(raised(mean), around(mean, half), len(blocks), math.sqrt(share / 2))
