"""Evidence that paired log ratios lie above a margin, valid at any time.

Two settings are measured in blocks, in an order that is drawn anew for each block. If they do not
differ, the log ratio d of a block is as likely as -d, whatever its law: heavy tails, two modes and
drift of the machine included, and dependence between blocks too. A bet on its sign is then fair.
The capital 1 grows by

    capital *= 1 + MOST * tanh(theta * (d - margin) / scale)

in each block. `scale` is the scatter of the blocks before. Several `theta` start with equal parts.
Without a difference the capital is a martingale, so it ever reaches 1/alpha with probability at
most alpha (Ville's inequality). One may therefore stop at any block, for any reason.

If d is symmetric about a centre at or below `margin`, each factor is 1 at most on average, because
tanh rises. A pair nearly doubles the capital at most: 1 % on one side takes seven pairs or more.

Source: Fisher's e-test of symmetry in Vovk and Wang, Nonparametric e-tests of symmetry, New England
Journal of Statistics in Data Science 2 (2024); Ville, Étude critique de la notion de collectif
(1939); Howard, Ramdas, McAuliffe, Sekhon, Annals of Statistics 49 (2021), on confidence sequences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sojourn.stats.interval import Interval
from sojourn.stats.method import Method
from sojourn.stats.times import Floats

METHOD = Method(
    name="symmetry_bets",
    about="paired log ratios in turn: evidence of a difference that may be looked at at any time",
    ids=("M15", "M16", "M38"),
    source="Vovk and Wang (2024), Fisher's e-test of symmetry; Ville (1939)",
)

THETAS = (0.1, 0.3, 1.0, 3.0)  # optimal for shifts of about that many standard deviations
MOST = 0.95  # share of the capital that is bet: one outlier leaves a twentieth
FIRST_SCALE = 0.1  # before there are three blocks: a pair of equal runs differs by about 10 %
SCALE_LEAST = 1e-3  # finer differences than 0.1 % are none to a user
VARIANCE_LEAST = SCALE_LEAST**2 / 2  # of one run; a log ratio is of two
_BLOCKS_OF_SCALE = 3
_TO_SIGMA = 1.4826  # of the median absolute deviation, for normal values
_STEPS = 40  # of bisection: an interval's end to 1e-11 of where it can lie


def log_capital(logs: Floats, margin: float = 0.0) -> Floats:
    """Logarithm of the capital after each block, of bets that the centre lies above `margin`.

    Args:
        logs: log ratios, series × blocks, or the blocks of one series; nan: the block has none.
        margin: log ratio that the centre is to exceed.

    Returns:
        The same shape as `logs`.
    """
    values = np.atleast_2d(np.asarray(logs, float))
    result = log_capital_at(values - margin, scales(values))
    return np.asarray(result.reshape(np.shape(logs)), float)


def log_capital_at(values: Floats, scale: Floats | float) -> Floats:
    """The same for a margin of 0 where the scale of each bet is given; series × blocks."""
    shift = values / scale
    paths = [np.cumsum(_log_factors(theta * shift), axis=1) for theta in THETAS]
    return np.asarray(np.logaddexp.reduce(np.stack(paths), axis=0) - math.log(len(THETAS)), float)


def p_values(logs: Floats, margins: Sequence[float]) -> tuple[Floats, Floats]:
    """The chance of so much evidence by each block, at any time up to it, for both sides.

    Args:
        logs: log ratios of the blocks of one series.
        margins: (of the bet that the centre lies above it, of the bet that it lies below it).

    Returns:
        p-values after each block that the centre is at most the first margin, and at least the
        second.
    """
    values = np.atleast_2d(np.asarray(logs, float))
    scale = scales(values)
    above, below = (
        log_capital_at(sign * (values - margin), scale)[0]
        for sign, margin in zip((1, -1), margins, strict=True)
    )
    return _running(above), _running(below)


def _running(path: Floats) -> Floats:
    return np.exp(-np.maximum.accumulate(np.maximum(0.0, path)))


def interval(logs: Floats, alpha: float) -> Interval | None:
    """Where the centre of symmetry lies, as log ratios; an end may be infinite.

    It covers at all times together with probability 1 - alpha: alpha/2 on either side. None if
    neither end is known yet.

    Args:
        logs: log ratios of the blocks of one series.
        alpha: chance, in (0, 1), that it ever misses.
    """
    values = np.asarray(logs, float)
    lo = _end(values, alpha / 2)
    hi = -_end(-values, alpha / 2)
    return None if math.isinf(lo) and math.isinf(hi) else Interval(lo=lo, hi=hi)


def _end(values: Floats, alpha: float) -> float:
    """The highest margin that is still refused."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return -math.inf
    rows, enough = np.atleast_2d(values), math.log(1 / alpha)
    scale = scales(rows)

    def is_refused(margin: float) -> bool:
        return bool(log_capital_at(rows - margin, scale).max() >= enough)

    width = float(np.ptp(finite)) + 1.0
    low, high = float(finite.min()) - 10 * width, float(finite.max()) + width
    if not is_refused(low):
        return -math.inf
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refused(middle) else (low, middle)
    return low


def _log_factors(shift: Floats) -> Floats:
    factors = np.log1p(MOST * np.tanh(shift))
    return np.where(np.isnan(shift), 0.0, factors)


def scales(values: Floats) -> Floats:
    """Scatter of the blocks before each one, series × blocks.

    It is known when the bet is made, and depends neither on the margin nor on the side of the bet.
    """
    result = np.full(values.shape, FIRST_SCALE)
    finite = np.where(np.isfinite(values), values, np.nan)
    for block in range(_BLOCKS_OF_SCALE, values.shape[1]):
        before = finite[:, :block]
        is_known = np.sum(~np.isnan(before), axis=1) >= _BLOCKS_OF_SCALE
        if not is_known.any():
            continue
        rows = before[is_known]
        median = np.nanmedian if np.isnan(rows).any() else np.median  # ten times faster
        middle = median(rows, axis=1)[:, None]
        spread = _TO_SIGMA * median(np.abs(rows - middle), axis=1)
        result[is_known, block] = np.maximum(spread, SCALE_LEAST)
    return result
