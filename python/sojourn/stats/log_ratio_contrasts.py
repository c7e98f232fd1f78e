"""A factor's effect on a number: log ratios between two of its levels, block by block (M15, M16).

Within a block every combination is measured once, close in time. The log ratio of two levels is
averaged over the other factors' levels, which gives one value a block; blocks are independent, so
Student's interval of their mean is the effect's. On the log scale the average is a geometric mean:
"1.8 times" is the same statement as "0.56 times" seen from the other side.

In a full design, skipped combinations or not, pairs that differ in this factor alone are compared.
A fraction of it has no such pairs; there the means of both halves are, in whole blocks only, for
its columns are orthogonal.

A block in which a number is infinite has no place in a mean, but it has one in the median. The
interval of that lies between two of the blocks, in order. So enough blocks outweigh one with lost
requests.

Source: Montgomery, Design and Analysis of Experiments, 8th ed. (2013), 6.2 and 8.2; for numbers
with intervals of their own Zou and Donner, "Construction of confidence limits about effect
measures: a general approach", Statistics in Medicine 27 (2008); for the median David and Nagaraja,
Order Statistics, 3rd ed. (2003), 7.1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sojourn.half_width import COVERAGE, student
from sojourn.plan import coin
from sojourn.plan.setting import Level, Setting
from sojourn.stats.interval import Interval, around, raised
from sojourn.stats.method import Method
from sojourn.stats.symmetry_bets import SCALE_LEAST

METHOD = Method(
    name="contrasts",
    about="effect of a factor: log ratios of levels by block, averaged over the other factors",
    ids=("M15", "M16", "M17"),
    source="Montgomery (2013), 6.2 and 8.2; Zou and Donner (2008)",
)

Blocks = Mapping[int, Mapping[Setting, float]]
Counts = Mapping[int, Mapping[Setting, int]]  # of runs behind each value

BLOCKS_MIN = 2


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two levels of a factor in a design.

    Attributes:
        cells: all combinations that are measured.
        factor: key.
        base, level: the levels.
        is_fraction: the design is a fraction with orthogonal columns.
    """

    cells: tuple[Setting, ...]
    factor: str
    base: Level
    level: Level
    is_fraction: bool

    def pairs(self) -> tuple[tuple[Setting, Setting], ...]:
        """(base, level) combinations that are alike in all other factors."""
        known = set(self.cells)
        bases = [cell for cell in self.cells if _is(cell, self.factor, self.base)]
        both = ((cell, Setting.of({**cell, self.factor: self.level})) for cell in bases)
        return tuple((one, other) for one, other in both if other in known)

    def weights(self, measured: Mapping[Setting, float]) -> Mapping[Setting, float] | None:
        """By how much each combination counts, +1 in all for `level` and −1 for `base`.

        Args:
            measured: by combination; those that are missing count for nothing.

        Returns:
            None if the levels cannot be compared by these.
        """
        pairs = [(a, b) for a, b in self.pairs() if a in measured and b in measured]
        if pairs:
            share = 1 / len(pairs)
            return {
                cell: sign * share
                for pair in pairs
                for cell, sign in zip(pair, (-1, 1), strict=True)
            }
        if not self.is_fraction or any(cell not in measured for cell in self.cells):
            return None
        low = [cell for cell in self.cells if _is(cell, self.factor, self.base)]
        high = [cell for cell in self.cells if _is(cell, self.factor, self.level)]
        if not low or not high:
            return None
        return {**dict.fromkeys(low, -1 / len(low)), **dict.fromkeys(high, 1 / len(high))}

    def by_block(self, values: Blocks) -> tuple[float, ...]:
        """Log ratios of blocks: infinite where one level's numbers are, nan where both levels' are.

        Args:
            values: positive numbers by block and combination; nan: it may be any, and so may the
                ratio.
        """
        results: list[float] = []
        for block in sorted(values):
            if weights := self.weights(values[block]):
                terms = [w * math.log(values[block][cell]) for cell, w in weights.items()]
                ends = {term for term in terms if not math.isfinite(term)}
                results.append(sum(ends) if ends else math.fsum(terms))
        return tuple(results)

    def endless(self, values: Blocks) -> int:
        """1 if `level` alone is infinite in every block that compares both, −1 if `base` alone.

        One block is not enough: a single run loses requests, or grows, by chance.

        Args:
            values: as in `by_block`.
        """
        sides = []
        for measured in values.values():
            weights = self.weights(measured) or {}
            under = {
                sign: [measured[c] for c, w in weights.items() if w * sign > 0] for sign in (1, -1)
            }
            if weights:
                sides.append(tuple(_ends(under[sign]) for sign in (1, -1)))
        if len(sides) < BLOCKS_MIN:
            return 0
        return (set(sides) == {(True, False)}) - (set(sides) == {(False, True)})

    def spread(self, values: Blocks, runs: Counts | None = None) -> float:
        """Standard deviation of the mean log ratio by chance alone, for one of 1 of two runs.

        Weights w of runs that are independent: var(Σ w·ln t) = Σ w²·var(ln t), and the log ratio
        of two runs has 2·var(ln t). So it is 1 of one pair, and 1/√n of n.

        Args:
            values: as in `by_block`; at least one block in which the levels compare.
            runs: how many each of them is the mean of (its variance is that much less); None: one.
        """
        used = [(block, result) for block in values if (result := self.weights(values[block]))]
        each = (
            w * w / (runs[block][c] if runs else 1) for block, of in used for c, w in of.items()
        )
        return math.sqrt(math.fsum(each) / 2) / len(used)


def ratio(logs: Sequence[float]) -> tuple[float | None, Interval | None]:
    """The mean log ratio of blocks as a ratio, with Student's interval if there are two or more.

    Times are stored in three digits. Blocks that agree to the last of these still scatter by it.
    """
    if not logs:
        return None, None
    values = np.asarray(logs, float)
    mean = float(values.mean())
    if len(values) < BLOCKS_MIN:
        return raised(mean), None
    half = student(len(values) - 1)
    half *= max(float(values.std(ddof=1)), SCALE_LEAST) / math.sqrt(len(values))
    return raised(mean), around(mean, half)


def middle(logs: Sequence[float]) -> tuple[float, Interval] | None:
    """The median log ratio of blocks as a ratio, with its interval; None where that is not finite.

    The k-th lowest of n blocks lies above the median with probability P(Bin(n, 1/2) < k), and the
    k-th highest below it. Nine blocks are needed where one is infinite.

    Args:
        logs: as `Contrast.by_block` has them; one that is nan may lie anywhere.

    >>> logs = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, math.inf]
    >>> value, ends = middle(logs)
    >>> [round(math.log(one), 3) for one in (value, ends.lo, ends.hi)]
    [0.5, 0.2, 0.8]
    >>> middle(logs[1:]) is None
    True
    """
    count = len(logs)
    outside = coin.outside(count, COVERAGE)
    if not outside:
        return None
    low, high = (
        sorted(end if math.isnan(log) else log for log in logs) for end in (-math.inf, math.inf)
    )
    lo, hi = low[outside - 1], high[count - outside]
    if not (math.isfinite(lo) and math.isfinite(hi)):
        return None
    value = (float(np.median(low)) + float(np.median(high))) / 2
    return raised(value), Interval(lo=raised(lo), hi=raised(hi))


def blocks_for_middle(infinite: int) -> int:
    """Least blocks of which `middle` has an interval though so many are infinite.

    >>> [blocks_for_middle(n) for n in (1, 2, 3)]
    [9, 12, 15]
    """
    return next(n for n in itertools.count(1) if coin.outside(n, COVERAGE) > infinite)


def combined(
    contrast: Contrast, results: Mapping[Setting, tuple[float, Interval]]
) -> tuple[float | None, Interval | None]:
    """The ratio of numbers that have an interval each, and none by block.

    The ends of the intervals carry over as variances do, each side by itself: intervals of a border
    are wider towards where less is known.

    Args:
        contrast: the levels.
        results: estimate and closed interval of each combination, all of one coverage.

    Returns:
        No interval where pairs lack one: what is left is an average over other combinations.
    """
    weights = contrast.weights({cell: value for cell, (value, _) in results.items()})
    if weights is None:
        return None, None
    mean = math.fsum(w * math.log(results[cell][0]) for cell, w in weights.items())
    down = up = 0.0
    for cell, w in weights.items():
        value, ends = results[cell]
        below, above = w * math.log(value / ends.lo), w * math.log(ends.hi / value)
        down += below**2 if w > 0 else above**2
        up += above**2 if w > 0 else below**2
    if any(cell not in results for pair in contrast.pairs() for cell in pair):
        return raised(mean), None
    return raised(mean), Interval(
        lo=raised(mean - math.sqrt(down)), hi=raised(mean + math.sqrt(up))
    )


def _ends(values: Sequence[float]) -> bool | None:
    """Whether all are infinite; None where some are, or may be."""
    if any(map(math.isnan, values)):
        return None
    infinite = sum(map(math.isinf, values))
    return infinite == len(values) if infinite in {0, len(values)} else None


def _is(cell: Setting, factor: str, level: Level) -> bool:
    return Setting.of({factor: cell[factor]}) == Setting.of({factor: level})
