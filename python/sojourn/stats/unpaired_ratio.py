"""Two settings that were measured apart: the ratio of a number.

The logarithms of the restarts' numbers are compared by Welch's t: neither the scatter nor the
number of restarts need be equal. Drift of the machine between both is part of the difference, and
no test can know it; `paired_ratio` is for settings that were measured in turn.

Times are stored in three digits. Restarts that agree to the last of these still scatter by it.

Source: Welch, The generalization of Student's problem when several different population variances
are involved, Biometrika 34 (1947).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from sojourn.half_width import student
from sojourn.stats.interval import Interval
from sojourn.stats.method import Method
from sojourn.stats.symmetry_bets import VARIANCE_LEAST
from sojourn.stats.times import Floats

METHOD = Method(
    name="unpaired_ratio",
    about="ratio of a number between two records, over restarts of each",
    ids=("M15",),
    source="Welch (1947)",
)
RESTARTS_MIN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpaired:
    """The second over the first.

    Attributes:
        ratio: of the geometric means; None if a side has no number, `inf` if only the second is.
        interval: of the ratio; None with fewer than three restarts a side, or infinite numbers.
        p: that there is no difference, two-sided; 1 without an interval.
    """

    ratio: float | None
    interval: Interval | None = None
    p: float = 1.0


def unpaired(
    first: Sequence[float] | Floats, second: Sequence[float] | Floats, alpha: float
) -> Unpaired:
    """Compare two sets of positive numbers, one a restart.

    Args:
        first: of the setting that the other is held against.
        second: of the other one.
        alpha: 1 less the coverage of the interval.

    >>> unpaired([1.0, 1.1, 0.9], [2.0, 2.2, 1.8], 0.05).ratio
    2.0
    """
    if not len(first) or not len(second):
        return Unpaired(ratio=None)
    a, b = (np.log(np.asarray(side, float)) for side in (first, second))
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return Unpaired(ratio=_endless(a, b))
    shift = float(b.mean() - a.mean())
    ratio = round(math.exp(shift), 12)
    if min(len(a), len(b)) < RESTARTS_MIN:
        return Unpaired(ratio=ratio)
    parts = [max(float(side.var(ddof=1)), VARIANCE_LEAST) / len(side) for side in (a, b)]
    error = math.sqrt(sum(parts))
    below = sum(part**2 / (len(side) - 1) for part, side in zip(parts, (a, b), strict=True))
    freedom = sum(parts) ** 2 / below
    half = student(freedom, 1 - alpha) * error
    return Unpaired(
        ratio=ratio,
        interval=Interval(lo=math.exp(shift - half), hi=math.exp(shift + half)),
        p=float(2 * scipy.special.stdtr(freedom, -abs(shift) / error)),
    )


def _endless(a: Floats, b: Floats) -> float | None:
    ends = [bool(np.isposinf(side).any()) for side in (a, b)]
    return math.inf if ends == [False, True] else 0.0 if ends == [True, False] else None
