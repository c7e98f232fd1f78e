"""Means of samples and their trends, each with an interval; no interval where too little is there.

Samples a second apart depend on each other, so they are not counted as independent: of three runs
or more the runs' means are, of fewer the means of batches of consecutive samples (M9).

Source: Law, Simulation Modeling and Analysis, 5th ed. (2015), 9.5.3, for batch means; the ratio of
two means is taken on the log scale with Welch's degrees of freedom (Welch, Biometrika 34, 1947).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sojourn.half_width import COVERAGE, student
from sojourn.models.classify.scenario import Carried
from sojourn.stats.times import Floats

RUNS_MIN = 3
BATCHES_MIN, BATCHES, BATCH_MIN = 4, 10, 3  # of fewer than 12 samples nothing is reported


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """A number and its 95 % interval; `lo` −∞ and `hi` ∞ where there is too little to bound it."""

    value: float
    lo: float
    hi: float

    @property
    def is_bounded(self) -> bool:
        """Whether there was enough to bound it on both sides."""
        return math.isfinite(self.lo) and math.isfinite(self.hi)

    def plus(self, more: float) -> Ends:
        """The number and both ends, more by so much."""
        return Ends(value=self.value + more, lo=self.lo + more, hi=self.hi + more)

    def is_below(self, edge: float) -> bool:
        """Whether all of the interval is."""
        return self.hi < edge

    def is_above(self, edge: float) -> bool:
        """Whether all of the interval is."""
        return self.lo > edge


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean with its standard error and degrees of freedom; `error` nan: not known."""

    value: float
    error: float
    freedom: float

    @property
    def ends(self) -> Ends:
        """The mean with Student's interval."""
        if math.isnan(self.error):
            return Ends(value=self.value, lo=-math.inf, hi=math.inf)
        half = student(self.freedom) * self.error
        return Ends(value=self.value, lo=self.value - half, hi=self.value + half)


def mean(runs: Sequence[Floats]) -> Mean | None:
    """The mean of a resource over its runs; None without a sample.

    Args:
        runs: samples of each run in order of time.

    >>> round(mean([np.array([1.0, 3.0]), np.array([2.0]), np.array([3.0])]).ends.hi, 2)
    3.77
    """
    selected = [run for run in runs if len(run)]
    if not selected:
        return None
    parts = _parts(selected)
    if len(parts) < RUNS_MIN:
        return Mean(value=float(np.mean(np.concatenate(selected))), error=math.nan, freedom=1)
    spread = float(parts.std(ddof=1)) / math.sqrt(len(parts))
    return Mean(value=float(parts.mean()), error=spread, freedom=len(parts) - 1)


def share_above(runs: Sequence[Floats], edge: float) -> Ends | None:
    """The share of samples that are at `edge` or above, 0 to 1; None without a sample.

    Where all or none are, Student knows of no spread; then the interval is that of as many
    independent batches (Hanley and Lippman-Hand, "If nothing goes wrong, is everything all right?",
    JAMA 249, 1983).

    >>> round(share_above([np.zeros(60)], 1.0).hi, 4)
    0.2589
    """
    reports = [np.asarray(run >= edge, float) for run in runs if len(run)]
    result = mean(reports)
    if result is None or math.isnan(result.error):
        return None if result is None else result.ends
    if result.error > 0:
        return result.ends
    rare = 1 - (1 - COVERAGE) ** (1 / (result.freedom + 1))
    lo, hi = (result.value, rare) if result.value < 0.5 else (1 - rare, result.value)
    return Ends(value=result.value, lo=lo, hi=hi)


def ratio(base: Mean | None, top: Mean | None) -> Ends | None:
    """`top` over `base` with its interval; None where one is not there, or not above 0."""
    if base is None or top is None or base.value <= 0 or top.value <= 0:
        return None
    value = top.value / base.value
    parts = [(one.error / one.value) ** 2 for one in (base, top)]
    if any(math.isnan(part) for part in parts):
        return Ends(value=value, lo=-math.inf, hi=math.inf)
    whole = sum(parts)
    if whole == 0:
        return Ends(value=value, lo=value, hi=value)
    weights = zip(parts, (base.freedom, top.freedom), strict=True)
    freedom = whole**2 / sum(part**2 / freedom for part, freedom in weights)
    half = student(freedom) * math.sqrt(whole)
    return Ends(value=value, lo=value * math.exp(-half), hi=value * math.exp(half))


def times(base: Carried | None, top: Carried | None) -> Ends | None:
    """How many times as much `top` carries as `base`; None where one is not known.

    Each side's distances add up as variances do (Zou and Donner, Statistics in Medicine 27, 2008).

    >>> times(Carried(rps=600, lo=600, hi=600), Carried(rps=2900, lo=2320, hi=3480)).lo
    3.8666666666666667
    """
    if base is None or top is None or base.rps <= 0 or top.rps <= 0 or base.what != top.what:
        return None
    down = _distance(_log(top.rps, top.lo), _log(base.hi, base.rps))
    up = _distance(_log(top.hi, top.rps), _log(base.rps, base.lo))
    value = top.rps / base.rps
    return Ends(value=value, lo=value * math.exp(-down), hi=value * _exp(up))


def exponent(ends: Ends | None, threads: float) -> Ends | None:
    """The power of threads with which it grows: 1 where it grows as threads do, 0 where it stays.

    Args:
        ends: how much it grew.
        threads: how many times as many threads there are, above 1.
    """
    if ends is None or threads <= 1:
        return None
    logs = (math.log(end) if end > 0 else -math.inf for end in (ends.value, ends.lo, ends.hi))
    value, lo, hi = (log / math.log(threads) for log in logs)
    return Ends(value=value, lo=lo, hi=hi)


def _parts(runs: Sequence[Floats]) -> Floats:
    """Numbers that are taken as independent: means of runs, or of batches of few runs."""
    if len(runs) >= RUNS_MIN:
        return np.array([run.mean() for run in runs])
    samples = sum(map(len, runs))
    count = min(BATCHES, samples // BATCH_MIN)
    if count < BATCHES_MIN:
        return np.array([])
    length = samples // count  # of the first batches of each run; a rest shorter than half is left
    batches = (run[at : at + length] for run in runs for at in range(0, len(run), length))
    return np.array([batch.mean() for batch in batches if len(batch) > length / 2])


def _log(above: float, below: float) -> float:
    """Their distance on the log scale; infinite where one end is open."""
    return math.inf if below <= 0 or math.isinf(above) else math.log(above / below)


def _distance(one: float, other: float) -> float:
    return math.hypot(one, other)


def _exp(value: float) -> float:
    return math.inf if math.isinf(value) else math.exp(value)
