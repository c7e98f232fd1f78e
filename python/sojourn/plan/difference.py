"""Which difference between two levels the time of a study can show (M37).

A block compares two levels by runs that are alike in all else. Let s be the standard deviation of
the logarithm of one run's quantile from start to start. The mean log ratio of n blocks, each the
average of k pairs, then has the standard error s·√(2/(k·n)), and half of its 95 % interval is

    h = t(n − 1)·s·√(2/(k·n)).

So what n blocks can show is a factor of exp(h): a smaller one is as a rule not told from 1. Two
blocks have one degree of freedom, t = 12.7, and show next to nothing; that is why many short runs
show more than few long ones as long as starts differ. `difference_test` finds the same h by
simulation.

Source: Montgomery, Design and Analysis of Experiments, 8th ed. (2013), 2.5 (paired comparison).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn import late
from sojourn.half_width import student
from sojourn.plan.design import own_levels
from sojourn.plan.points import Outcome, Phase
from sojourn.plan.questions import Questions
from sojourn.plan.rehearsal import Rehearsal
from sojourn.plan.setting import TWIN
from sojourn.spec import Study
from sojourn.units import show_s

if TYPE_CHECKING:
    import numpy as np
else:
    np = late.module("numpy")

#: Of ln p99 of one run, where nothing is known: 97 A/A pairs of memcached at half load on two CPUs
#: that other programs use too (`bench/runs/*-aa.json`): their log ratios scatter by 0.38 = √2·0.27.
SPREAD = 0.27
BLOCKS_MIN = 2
BLOCKS_MAX = 2000
WANTED = 1.2  # ± 20 %


def half(spread: float, blocks: int, pairs: int = 1) -> float:
    """Half of the interval of a log ratio; infinite of one block.

    >>> round(half(0.27, 3), 2), round(half(0.27, 6), 2), half(0.27, 1)
    (0.95, 0.4, inf)
    """
    if blocks < BLOCKS_MIN:
        return math.inf
    return student(blocks - 1) * spread * math.sqrt(2 / (pairs * blocks))


def blocks_for(ratio: float, spread: float, pairs: int = 1, *, most: int = BLOCKS_MAX) -> int:
    """The least number of blocks that show a ratio; `most` where that is not enough.

    >>> blocks_for(1.2, 0.27), blocks_for(3.0, 0.27)
    (20, 3)
    """
    wanted = math.log(ratio)
    low, high = BLOCKS_MIN, BLOCKS_MIN
    while high < most and half(spread, high, pairs) > wanted:
        low, high = high + 1, min(most, 2 * high)
    while low < high:
        middle = (low + high) // 2
        if half(spread, middle, pairs) > wanted:
            low = middle + 1
        else:
            high = middle
    return high


def spread_of(study: Study, outcomes: Iterable[Outcome]) -> float | None:
    """The scatter of ln p99 from start to start in a record of this study; None if it tells none.

    What a whole block has in common, and what a combination at a load is, is taken out by least
    squares (two-way additive model): what is left is chance.
    """
    cells: dict[str, dict[tuple[str, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in outcomes:
        point = one.point
        is_reported = point.phase is Phase.SWEEP and one.is_believed
        if is_reported and one.p99_ns and TWIN not in point.setting:
            cell = f"{own_levels(study, point).text} {point.fraction}"
            cells[point.service][cell, point.repeat].append(math.log(one.p99_ns))
    squares = freedom = 0.0
    for table in cells.values():
        more_squares, more_freedom = _residual({at: values[-1] for at, values in table.items()})
        squares, freedom = squares + more_squares, freedom + more_freedom
    return math.sqrt(squares / freedom) if freedom else None


def _residual(table: dict[tuple[str, int], float]) -> tuple[float, float]:
    """Sum of squares that cells and blocks do not explain, and its degrees of freedom."""
    cells = sorted({cell for cell, _ in table})
    blocks = sorted({block for _, block in table})
    x = np.zeros((len(table), len(cells) + len(blocks)))
    for row, (cell, block) in enumerate(table):
        x[row, cells.index(cell)] = x[row, len(cells) + blocks.index(block)] = 1
    y = np.array(list(table.values()))
    freedom = len(table) - int(np.linalg.matrix_rank(x))
    terms = np.linalg.lstsq(x, y, rcond=None)[0]
    return float(np.sum((y - x @ terms) ** 2)), float(freedom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the time of a study can show of one service's factors.

    Attributes:
        service: label.
        wall_s: of the whole study, s.
        blocks: of each level; pairs: of combinations that a block compares, of the factor that has
            the fewest.
        ratio: the least factor that is distinguished from 1; infinite of one block.
        wanted: a smaller one, that is usually asked for; wanted_blocks, wanted_s: what it takes.
    """

    service: str
    wall_s: float
    blocks: int
    pairs: int
    ratio: float
    wanted: float
    wanted_blocks: int
    wanted_s: float

    @property
    def text(self) -> str:
        """`memcached: 3 blocks in 50 s show a factor of 4; ± 20 % takes 21 min (…)`."""
        in_time = f"{self.blocks} block{'' if self.blocks == 1 else 's'} in {show_s(self.wall_s)}"
        shows = (
            f"a factor of {self.ratio:.3g}" if self.ratio < 2 else f"a factor of {self.ratio:.2g}"
        )
        if math.isinf(self.ratio):
            shows = "no difference between levels"
        elif self.ratio <= self.wanted:
            return f"{self.service}: {in_time} show {shows}"
        more = f"± {100 * (self.wanted - 1):.0f} % takes {show_s(self.wanted_s)}"
        return f"{self.service}: {in_time} show {shows}; {more} (run.repeats={self.wanted_blocks})"


def shown(
    study: Study, ahead: Rehearsal, questions: Questions, spread: float = SPREAD
) -> tuple[Shown, ...]:
    """What the planned time can show, for every service of which levels are compared by blocks."""
    return tuple(
        result
        for service in study.services
        if (result := _shown(study, service.label, ahead, questions, spread)) is not None
    )


def _shown(
    study: Study, label: str, ahead: Rehearsal, questions: Questions, spread: float
) -> Shown | None:
    combinations = [dict(levels) for levels in study.combinations(label)]
    pairs = _fewest_pairs(combinations, study.factors_of(label))
    walls = list(zip(ahead.points, ahead.walls_s, strict=True))
    is_swept = any((point.service, point.phase) == (label, Phase.SWEEP) for point, _ in walls)
    if pairs is None or not is_swept:
        return None
    phases = {point.phase for point, _ in walls}
    grows = {one for one in phases if "run.repeats" in questions.kind_of(one).grows_with}
    repeated_s = sum(s for point, s in walls if point.phase in grows)  # of all services
    blocks = study.run.repeats
    wanted = blocks_for(WANTED, spread, pairs)
    return Shown(
        service=label,
        wall_s=ahead.wall_s,
        blocks=blocks,
        pairs=pairs,
        ratio=math.exp(min(700.0, half(spread, blocks, pairs))) if blocks > 1 else math.inf,
        wanted=WANTED,
        wanted_blocks=wanted,
        wanted_s=ahead.wall_s + repeated_s * (wanted / blocks - 1),
    )


def _fewest_pairs(combinations: Sequence[Mapping[str, object]], keys: Sequence[str]) -> int | None:
    """Of the factor that has the fewest, pairs that a level has with another; None: no factor."""
    fewest = []
    for key in keys:
        levels: dict[str, int] = defaultdict(int)
        for one in combinations:
            levels[repr(one.get(key))] += 1
        if len(levels) > 1:
            fewest.append(min(levels.values()))
    return min(fewest, default=None)
