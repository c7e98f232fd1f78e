"""What differs from one start of the server to the next.

A run measures one start of the server very well and says nothing about the others: memory layout,
hash seeds and placement of threads are drawn anew each time (performance hysteresis). So the
restart is the unit (M15): the interval is Student's over the restarts' own quantiles, and each of
them is shown. When they fall into two groups no interval of their mean describes them.

Two groups are sought by the largest inner gap: restarts on either side of it are compared by
Ashman's D, the distance of the group means over the groups' spread. The split is chosen after
looking, so D's limit is its own 1 % point when five (six, ...) values are drawn from one normal
group, simulated with a fixed seed. Hartigan's dip test was rejected: it needs dozens of values, and
its Python package is under the GPL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sojourn.half_width import student
from sojourn.stats.interval import Interval
from sojourn.stats.method import Method
from sojourn.stats.symmetry_bets import VARIANCE_LEAST
from sojourn.stats.times import Floats

METHOD = Method(
    name="restarts",
    about="interval across restarts of the server, and whether they fall into two groups",
    ids=("M15",),
    source="Zhang et al., Treadmill (ISCA 2016); Ashman, Bird, Zepf (1994), Astron. J. 108",
)

INTERVAL_NEEDS = 3
GROUPS_NEED = 5  # two and three: with fewer no split of normal values is rare enough
GROUPS_APART = 0.10  # of the lower group's mean; closer groups do not matter
WIDTH_MAX = 0.05  # half-width over mean that M15 asks for


def interval(values_ns: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """Student's interval of the mean over restarts; None with fewer than three.

    An infinite value among them leaves no upper bound. Times are stored in three digits, so
    restarts that agree to the last of these still scatter by it.
    """
    values = np.asarray(values_ns, float)
    if len(values) < INTERVAL_NEEDS:
        return None
    if not np.isfinite(values).all():
        return Interval(lo=float(values.min()), hi=math.inf)
    mean = float(values.mean())
    scatter = max(float(values.std(ddof=1)), math.sqrt(VARIANCE_LEAST) * mean)
    half = student(len(values) - 1, confidence) * scatter / math.sqrt(len(values))
    return Interval(lo=max(0.0, mean - half), hi=mean + half)


def is_precise(values_ns: Sequence[float], *, confidence: float = 0.95) -> bool:
    """Whether the interval is as narrow as M15 asks: half-width at most 5 % of the mean."""
    result = interval(values_ns, confidence=confidence)
    if result is None or math.isinf(result.hi):
        return False
    return (result.hi - result.lo) / 2 <= WIDTH_MAX * float(np.mean(values_ns))


def is_bimodal(values_ns: Sequence[float]) -> bool:
    """Whether the restarts fall into two groups of at least two; False with fewer than five."""
    values = np.sort(np.asarray(values_ns, float))
    if len(values) < GROUPS_NEED or not np.isfinite(values).all():
        return False
    distance, cut = _ashman(values[None, :])
    low, high = values[: cut[0]].mean(), values[cut[0] :].mean()
    return bool(distance[0] > _limit(len(values)) and high > low * (1 + GROUPS_APART))


def _ashman(rows: Floats) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Ashman's D of each sorted row, split at its largest gap with two values on either side."""
    count, n = rows.shape
    gaps = np.diff(rows, axis=1)[:, 1 : n - 2]
    cut = np.argmax(gaps, axis=1) + 2
    is_low = np.arange(n)[None, :] < cut[:, None]

    def group(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> tuple[Floats, Floats]:
        size = mask.sum(axis=1)
        mean = np.where(mask, rows, 0).sum(axis=1) / size
        square = np.where(mask, (rows - mean[:, None]) ** 2, 0).sum(axis=1)
        return mean, square / (size - 1)

    (low, low_var), (high, high_var) = group(is_low), group(~is_low)
    spread = np.sqrt(low_var + high_var)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = math.sqrt(2) * (high - low) / spread
    return np.where(spread > 0, distance, np.where(high > low, np.inf, 0.0)), cut.reshape(count)


@lru_cache(maxsize=64)
def _limit(n: int) -> float:
    """1 % point of D for `n` values of one normal group; 20,000 draws, fixed seed."""
    rows = np.sort(np.random.default_rng(15).standard_normal((20_000, n)), axis=1)
    return float(np.quantile(_ashman(rows)[0], 0.99))
