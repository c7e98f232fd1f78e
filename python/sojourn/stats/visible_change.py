"""The power of a comparison: what so many blocks can show.

The number of blocks until the capital suffices depends on the shift in units of the scatter alone.
It is simulated once for each shift, with a fixed seed, on Student's t with four degrees of freedom:
tails as heavy as those of pairs of equal runs.

Source: `symmetry_bets`; M11 (the sample size is known before).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy

from sojourn.stats import gate_rule, symmetry_bets
from sojourn.stats.times import Floats

POWER = 0.9
BLOCKS_MOST = 2000  # no one waits for more
SCATTER_NEEDS = 4  # blocks
_SURE = 0.8
_DRAWS = 400
_FREEDOM = 4
_SEED = 32
_PER_DECADE = 12  # shifts at which it is simulated: 21 % apart, in between the smaller one counts
_FIRST_BLOCKS = 64


def blocks_for(change: float, scatter: float, alpha: float, margin: float = 0.0) -> int | None:
    """Blocks in which a change is seen nine times out of ten; None: more than 2,000.

    Args:
        change: of the ratio, such as 0.1; above `margin`.
        scatter: standard deviation of a block's log ratio.
        alpha: level of the one test.
        margin: change that is still allowed.
    """
    shift = (math.log1p(change) - math.log1p(margin)) / max(scatter, symmetry_bets.SCALE_LEAST)
    if shift <= 0:
        return None
    step = math.floor(math.log10(min(shift, 10.0)) * _PER_DECADE)
    return _blocks(step, alpha)


def gate_blocks(change: float, scatter: float, alpha: float, margin: float) -> int | None:
    """The same for a gate, whose alarm fresh blocks confirm; None: more than 2,000 a stage."""
    first = blocks_for(change, scatter, alpha, margin)
    if first is None:
        return None
    fresh = blocks_for(change, scatter, gate_rule.CONFIRM, margin)
    return None if fresh is None else first + fresh


def scatter(logs: Floats, taken: int = 1) -> float:
    """Standard deviation of the blocks' log ratios that it surely does not exceed by much.

    The upper end of the 80 % one-sided interval, because a few blocks know it badly. The sum of
    squares over the true variance is chi-squared; each fitted parameter takes one of its degrees.

    Args:
        logs: of the blocks; what is not finite does not count.
        taken: parameters that were fitted to them: 1, their mean; 2, the line about which these
            are the residuals.

    Returns:
        At least 0.001; inf if too few are known.
    """
    known = logs[np.isfinite(logs)]
    freedom = len(known) - taken
    if len(known) < SCATTER_NEEDS or freedom < 1:
        return math.inf
    wider = math.sqrt(freedom / 2 / float(scipy.special.gammaincinv(freedom / 2, 1 - _SURE)))
    return max(float(np.std(known, ddof=taken)) * wider, symmetry_bets.SCALE_LEAST)


def change_in(blocks: int, scatter: float, alpha: float) -> float | None:
    """The smallest change that so many blocks show nine times out of ten; None: none below 1,000 %.

    It is that of a comparison: one stage, and no change is allowed.

    Args:
        blocks: that are measured at most.
        scatter: standard deviation of a block's log ratio.
        alpha: level of the one test.
    """
    return _smallest(blocks, 0.0, lambda change: blocks_for(change, scatter, alpha))


def gate_change_in(blocks: int, scatter: float, alpha: float, margin: float) -> float | None:
    """The smallest change that a gate alarms at and confirms in so many blocks, as often.

    Args:
        blocks: of both stages together, at most.
        scatter: standard deviation of a block's log ratio.
        alpha: level of the first alarm.
        margin: change that the gate allows; what it sees lies above.

    Returns:
        None: none up to 999 % above the margin.
    """
    return _smallest(blocks, margin, lambda change: gate_blocks(change, scatter, alpha, margin))


def _smallest(blocks: int, margin: float, blocks_of: Callable[[float], int | None]) -> float | None:
    """The smallest change above the margin, in steps of 1 %, that takes at most so many blocks."""
    for hundredth in range(1, 1000):
        change = margin + hundredth / 100
        needed = blocks_of(change)
        if needed is not None and needed <= blocks:
            return change
    return None


@lru_cache(maxsize=256)
def _blocks(step: int, alpha: float) -> int | None:
    shift = 10 ** (step / _PER_DECADE)
    blocks = _FIRST_BLOCKS
    while True:
        reached = _reached(shift, blocks, alpha)
        if math.isfinite(result := float(np.quantile(reached, POWER, method="higher"))):
            return int(result)
        if blocks >= BLOCKS_MOST:
            return None
        blocks = min(BLOCKS_MOST, 4 * blocks)


def _reached(shift: float, blocks: int, alpha: float) -> Floats:
    """The block at which each simulated series has enough evidence; inf: none of these."""
    rng = np.random.default_rng(_SEED)
    noise = rng.standard_t(_FREEDOM, (_DRAWS, blocks)) / math.sqrt(_FREEDOM / (_FREEDOM - 2))
    unit = symmetry_bets.FIRST_SCALE
    path = symmetry_bets.log_capital_at((shift + noise) * unit, unit)
    is_there = path >= math.log(1 / alpha)
    return np.where(is_there.any(axis=1), is_there.argmax(axis=1) + 1.0, math.inf)
