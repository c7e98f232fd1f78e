"""Two settings that were measured in turn: the ratio of a number.

A ratio above 1 is worse: numbers of which more is better (max RPS) come inverted. The three
statements *worse*, *better* and *the same within X* have a p-value each. They stay valid whenever
one stops (`symmetry_bets`). The estimate is the median of all averages of two blocks (Hodges and
Lehmann), which is the centre of symmetry and heeds no single outlier.

Source: Hodges and Lehmann, Estimates of location based on rank tests, Annals of Mathematical
Statistics 34 (1963); Schuirmann, Journal of Pharmacokinetics 15 (1987), for *the same*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from sojourn.stats import holm, symmetry_bets
from sojourn.stats.interval import Interval
from sojourn.stats.times import Floats


class Judgement(StrEnum):
    """What can be said of one number of two settings."""

    WORSE = "worse"
    BETTER = "better"
    SAME = "no difference"
    OPEN = "cannot be decided"

    @property
    def is_open(self) -> bool:
        """Whether nothing follows from the blocks so far."""
        return self is Judgement.OPEN

    @property
    def differs(self) -> bool:
        """Whether one is worse than the other."""
        return self in {Judgement.WORSE, Judgement.BETTER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What counts as a difference, and how sure a judgement is.

    Attributes:
        alpha: chance that any judgement *worse* or *better* of the family is ever wrong.
        same: ratios between 1/(1 + same) and 1 + same are no difference.
        margin: only a ratio above 1 + margin is worse, and one below 1/(1 + margin) better.
    """

    alpha: float = 0.01
    same: float = 0.05
    margin: float = 0.0

    def is_same(self, ends: Interval) -> bool:
        """Whether a ratio with this interval is no difference."""
        return 1 / (1 + self.same) <= ends.lo and ends.hi <= 1 + self.same

    def first_word(self, ends: Interval | None) -> Judgement:
        """Before Holm: *no difference* is reported here already, for it is no alarm."""
        return Judgement.SAME if ends is not None and self.is_same(ends) else Judgement.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """One number in two settings.

    Attributes:
        pairs: blocks in which both have it.
        ratio: second over first; None without a pair, `inf` where only the second is infinite.
        interval: of the ratio, at all times together; None if neither end is known.
        p_worse, p_better, p_same: of the opposite of each statement.
        judgement: in the family of numbers that is judged at once.
    """

    pairs: int
    ratio: float | None
    interval: Interval | None
    p_worse: float
    p_better: float
    p_same: float
    judgement: Judgement = Judgement.OPEN


def judged(logs: Mapping[str, Sequence[float] | Floats], limits: Limits) -> dict[str, Paired]:
    """Every number of two settings, with the family's error rate held (Holm).

    Args:
        logs: by number: log ratios of the blocks in order, nan where a block has none.
        limits: of all of them.
    """
    results = {name: paired(values, limits) for name, values in logs.items()}
    either = {name: min(1.0, 2 * min(p.p_worse, p.p_better)) for name, p in results.items()}
    sure = holm.adjusted(either)
    return {
        name: _with(one, is_different=sure[name] <= limits.alpha, alpha=limits.alpha)
        for name, one in results.items()
    }


def paired(values: Sequence[float] | Floats, limits: Limits) -> Paired:
    """One number of two settings, not yet judged among others."""
    logs = np.asarray(values, float)
    margin, same = math.log1p(limits.margin), math.log1p(limits.same)
    p_worse, p_better = _last(symmetry_bets.p_values(logs, (margin, -margin)))
    lower, upper = _last(symmetry_bets.p_values(logs, (-same, same)))
    ends = symmetry_bets.interval(logs, limits.alpha)
    return Paired(
        pairs=int(np.sum(~np.isnan(logs))),
        ratio=centre(logs),
        interval=None if ends is None else Interval(lo=math.exp(ends.lo), hi=math.exp(ends.hi)),
        p_worse=p_worse,
        p_better=p_better,
        p_same=max(lower, upper),
    )


def _last(paths: tuple[Floats, Floats]) -> tuple[float, float]:
    above, below = (float(path[-1]) if len(path) else 1.0 for path in paths)
    return above, below


def _with(one: Paired, *, is_different: bool, alpha: float) -> Paired:
    if is_different:
        is_worse = one.p_worse <= one.p_better
        judgement = Judgement.WORSE if is_worse else Judgement.BETTER
    else:
        judgement = Judgement.SAME if one.p_same <= alpha else Judgement.OPEN
    return replace(one, judgement=judgement)


def centre(logs: Floats) -> float | None:
    """The ratio at the centre of symmetry; None without a pair, or where it may lie anywhere.

    >>> round(centre(np.log([1.1, 1.1, 1.1, 9.0])), 3)
    1.1
    >>> centre(np.array([-math.inf, math.inf]))
    """
    known = logs[~np.isnan(logs)]
    if not len(known):
        return None
    if not np.isfinite(known).all():
        with np.errstate(invalid="ignore"):
            middle = float(np.median(known))
        return None if math.isnan(middle) else math.exp(middle)
    first, second = np.triu_indices(len(known))
    return math.exp(float(np.median((known[first] + known[second]) / 2)))
