"""Do the simulator's intervals cover? Many seeds of one queue against its closed form.

A 95 % interval must hold the truth in 95 % of runs: not in fewer, and not by being too wide. Two
rules, both two-sided at 1 %:

    hits   the binomial's region, of 50 runs 43 to 50; it rejects 33 and 39
    width  by hits alone 50 of 50 cannot be rejected (chance: 8 %). So the mean half-width over
           t = 2.04 standard deviations of the runs' own estimates must lie in
           1 ± 2.58/√(2(n−1)), for 50 runs 0.74 to 1.26; intervals of twice the width fail it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.half_width import COVERAGE

NUMBERS = ("mean", "p50", "p90", "p95", "p99", "p999")

T_95, Z_99 = 2.04, 2.576  # 31 degrees of freedom, as the program's
ONE_SIDE = 0.005
BIN = (
    1e-3  # of the histogram, relative: the least that an interval can tell, where there is an atom
)


@dataclass(frozen=True, slots=True)
class Coverage:
    """One number of one queue over all seeds.

    Attributes:
        number: "mean" or a quantile, such as "p999".
        runs, known, hits: runs; of these with an interval; of these whose interval holds the truth.
        width: mean half-width over what the runs' scatter asks for; NaN where it cannot be told.
    """

    number: str
    runs: int
    known: int
    hits: int
    width: float

    @property
    def verdict(self) -> str:
        """`holds`, `unknown` (not every run had an interval) or what is wrong."""
        if self.known < self.runs:
            return "unknown"  # a selection of runs is no fair sample
        low, high = accepted(self.runs)
        if not low <= self.hits <= high:
            return "WRONG HITS"
        slack = width_slack(self.runs)
        return "holds" if abs(self.width - 1) <= slack or math.isnan(self.width) else "WRONG WIDTH"


def accepted(runs: int, p: float = COVERAGE) -> tuple[int, int]:
    """Fewest and most hits that the binomial allows, 0.5 % left out at either side.

    >>> accepted(50)
    (43, 50)
    """
    mass = [math.comb(runs, k) * p**k * (1 - p) ** (runs - k) for k in range(runs + 1)]
    low = next(k for k in range(runs + 1) if sum(mass[: k + 1]) > ONE_SIDE)
    high = next(k for k in range(runs, -1, -1) if sum(mass[k:]) > ONE_SIDE)
    return low, high


def width_slack(runs: int) -> float:
    """How far from 1 the width may be: a standard deviation of so many runs is that uncertain."""
    return Z_99 / math.sqrt(2 * (runs - 1))


def covered(number: str, results: Sequence[Mapping[str, Any]]) -> Coverage:
    """One number, from the results of all seeds of `sojourn-sim queue`.

    Raises:
        ValueError: the queue has no closed form for this number.
    """
    known = [(r["intervals"][number], _closed(r, number)) for r in results]
    known = [(interval, truth) for interval, truth in known if interval is not None]
    slack = [(i["lo"] - BIN * c, i["hi"] + BIN * c, c) for i, c in known]
    return Coverage(
        number=number,
        runs=len(results),
        known=len(known),
        hits=sum(lo <= truth <= hi for lo, hi, truth in slack),
        width=_width([i for i, _ in known], known[0][1]) if len(known) > 2 else math.nan,
    )


def _width(intervals: Sequence[dict[str, float]], truth: float) -> float:
    half = statistics.fmean((i["hi"] - i["lo"]) / 2 for i in intervals)
    scatter = statistics.stdev(i["mid"] for i in intervals)
    is_atom = half < BIN * truth
    return math.nan if is_atom or scatter == 0 else half / (T_95 * scatter)


def _closed(result: Mapping[str, Any], number: str) -> float:
    exact = [c for c in result["closed"] if c["exact"] and c[number] is not None]
    if not exact:
        raise ValueError(f"no closed form for {number}")
    return float(exact[0][number])
