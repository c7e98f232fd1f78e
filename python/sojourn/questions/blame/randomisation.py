"""Is a suspect to blame: windows in which it was stopped against windows in which it ran (M22).

Each block holds one window of either kind, in an order drawn by lot, so whatever else changes on
the machine hits both alike, and the lot itself is the basis of the test. Both sides are pooled over
the blocks, for a quantile is never averaged, and the ratio of the two pooled quantiles is compared
with those that arise when the two windows of each block swap sides: all ways of doing so, or a
sample of them. If stopping the suspect changes nothing, all are equally likely, whatever the
distribution, drift or dependence within windows; so the test is exact. Its one assumption is that
what a window leaves behind ends in the part of the next one that does not count.

The interval holds the ratios that the same test does not reject at 5 %, when the times of one side
are multiplied by them. Tests are many: Holm's correction over all comparisons of a service says who
is guilty. A suspect is cleared if no ratio that matters lies in its intervals; not by a large p.

Source: Edgington and Onghena, Randomization Tests, 4th ed. (2007), ch. 3 and 5; Lehmann and Romano,
Testing Statistical Hypotheses, 3rd ed. (2005), 5.8–5.9 and 3.5 (intervals from tests); Holm (1979).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sojourn.half_width import student
from sojourn.stats.interval import Interval
from sojourn.stats.method import Method
from sojourn.stats.quantile_regression import holm

METHOD = Method(
    name="blame",
    about="randomisation test of a quantile in paired windows, interval by its inversion, Holm",
    ids=("M17", "M22"),
    source="Edgington and Onghena (2007), 3, 5; Lehmann and Romano (2005), 5.8; Holm (1979)",
)

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
ALPHA = 0.05
BLOCKS_MIN = 6  # with five the least p-value of a pair is above 5 %
EVERY_MAX = 10  # blocks of which all ways of swapping are tried
DRAWS = 999  # else, beside the one that was
STEP = 0.01  # of the logarithm, between two bins
BINS_MAX = 4000
TIE = 1e-9  # of the same: quantiles of one bin are equal
RATIO_MAX = 1000.0  # an interval does not go further
BISECTIONS = 9
LOST_NS = 1e9  # a request that never completed took longer than this, and than all that did
BOOT, BOOT_BINS = 1000, 300
ABOVE_MIN = 5  # requests above the quantile, of either side

Pairs = Sequence[tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """A quantile with a suspect over the same without it.

    Attributes:
        with_ns, without_ns: pooled over blocks; `inf`: requests that never completed decide it.
        ratio: None if refused.
        interval: 95 %; an end that was not found is `RATIO_MAX` or its inverse, or the ratio itself
            where that lies beyond.
        p: of "it makes no difference", two-sided; p_holm: corrected, set by `corrected`.
        blocks, requests: that it rests on; the latter of the smaller side.
        refused: why there is no ratio; "" if there is one.
        with_interval, without_interval: 95 %, over windows; None if refused.
    """

    with_ns: float | None
    without_ns: float | None
    ratio: float | None
    interval: Interval | None
    p: float
    blocks: int
    requests: int
    p_holm: float = 1.0
    refused: str = ""
    with_interval: Interval | None = None
    without_interval: Interval | None = None

    @property
    def is_worse(self) -> bool:
        """Whether the suspect makes the quantile longer, corrected for all comparisons."""
        is_sure = self.p_holm < ALPHA and self.interval is not None and self.interval.lo > 1
        return bool(is_sure and self.ratio and self.ratio > 1)

    def convicts(self, matters: float) -> bool:
        """Whether it makes it longer by as much as matters."""
        return self.is_worse and not self.is_below(matters)

    def is_below(self, ratio: float) -> bool:
        """Whether the whole interval is."""
        return self.interval is not None and self.interval.hi < ratio


def contrast(pairs: Pairs, q: float, *, seed: int) -> Contrast:
    """Compare two states.

    Args:
        pairs: of each block the sojourn times, ns, with the suspect and without; `inf`: lost.
        q: quantile in (0, 1).
        seed: of the sample of swaps, where there are too many.
    """
    with_ns = [pair[0] for pair in pairs if pair[0].size and pair[1].size]
    without_ns = [pair[1] for pair in pairs if pair[0].size and pair[1].size]
    least = min(sum(map(len, with_ns)), sum(map(len, without_ns)))
    result = Contrast(
        with_ns=pooled(with_ns, q),
        without_ns=pooled(without_ns, q),
        ratio=None,
        interval=None,
        p=1.0,
        blocks=len(with_ns),
        requests=least,
    )
    if len(with_ns) < BLOCKS_MIN:
        return replace(result, refused=f"{len(with_ns)} blocks are whole, {BLOCKS_MIN} are needed")
    if least * (1 - q) < ABOVE_MIN:
        wanted = math.ceil(ABOVE_MIN / (1 - q))
        return replace(
            result, refused=f"{wanted} requests are needed on either side, there are {least}"
        )
    test = _Test(_finite([*with_ns, *without_ns]), q, seed)
    ratio = math.exp(test.statistic(0.0))
    return Contrast(
        with_ns=result.with_ns,
        without_ns=result.without_ns,
        ratio=ratio,
        p=test.p(0.0),
        interval=Interval(lo=math.exp(test.end(-1)), hi=math.exp(test.end(1))),
        blocks=len(with_ns),
        requests=least,
        with_interval=spread(with_ns, q, seed=seed),
        without_interval=spread(without_ns, q, seed=seed),
    )


def corrected(contrasts: Sequence[Contrast]) -> tuple[Contrast, ...]:
    """The same with Holm's correction over all of them; those that were refused are no tests."""
    reports = [n for n, one in enumerate(contrasts) if not one.refused]
    if not reports:
        return tuple(contrasts)
    p = holm(np.array([contrasts[n].p for n in reports]))
    by_number = dict(zip(reports, p.tolist(), strict=True))
    return tuple(replace(one, p_holm=by_number.get(n, 1.0)) for n, one in enumerate(contrasts))


def pooled(windows: Sequence[Floats], q: float) -> float | None:
    """The quantile of all windows together, ns; `inf` if lost requests decide it; None: nothing."""
    if not windows:
        return None
    every = np.concatenate(windows)
    rank = max(0, math.ceil(q * every.size) - 1)
    return float(np.partition(every, rank)[rank]) if every.size else None


def _finite(windows: Sequence[Floats]) -> list[Floats]:
    """Logarithms, lost requests as the longest of all."""
    finite = [w[np.isfinite(w)] for w in windows]
    longest = max([LOST_NS, *(float(w.max()) for w in finite if w.size)])
    return [np.log(np.clip(np.where(np.isfinite(w), w, longest), 1.0, None)) for w in windows]


class _Test:
    """The randomisation test of one comparison, at any ratio that is assumed to be true."""

    def __init__(self, logs: Sequence[Floats], q: float, seed: int) -> None:
        """`logs`: of the times with the suspect by block, then of those without."""
        count = len(logs) // 2
        ordered = [np.sort(window) for window in logs]
        self._with, self._without = ordered[:count], ordered[count:]
        self._sizes = [np.array([w.size for w in side]) for side in (self._with, self._without)]
        self._q = q
        ends = [_quantile(window, q) for window in logs]
        self._lo, self._hi = min(ends), max(ends)  # no pooled quantile lies outside
        self._swaps = _swaps(count, seed)

    def statistic(self, shift: float) -> float:
        """Logarithm of the ratio, less `shift`: as it was observed."""
        return float(self._logs(shift, self._swaps[:1])[0])

    def p(self, shift: float) -> float:
        """Share of the swaps that are as extreme, if e^shift is the true ratio; two-sided."""
        result = np.abs(self._logs(shift, self._swaps))
        return float((result >= result[0] - TIE).mean())

    def end(self, side: int) -> float:
        """The lower (-1) or upper (1) end of the interval, as a logarithm."""
        inner, step, most = self.statistic(0.0), 4 * STEP, math.log(RATIO_MAX)
        known, outer = inner, inner + side * step
        while self.p(outer) > ALPHA:
            step *= 2
            known, outer = outer, inner + side * step
            if side * outer > most:
                return side * max(most, side * inner)
        for _ in range(BISECTIONS):
            if abs(outer - known) < STEP / 2:
                break
            middle = (known + outer) / 2
            known, outer = (middle, outer) if self.p(middle) > ALPHA else (known, middle)
        return outer

    def _logs(self, shift: float, swaps: Counts) -> Floats:
        """Logarithms of the ratios under these swaps, `shift` taken off the side with."""
        low, high = min(self._lo, self._lo - shift), max(self._hi, self._hi - shift)
        bins = min(BINS_MAX, max(2, math.ceil((high - low) / STEP) + 1))
        edges = np.linspace(low, high + STEP, bins)
        up_to = [
            np.array([np.searchsorted(window, edges + off, side="right") for window in side])
            for side, off in ((self._with, shift), (self._without, 0.0))
        ]
        # 1 in a row of `swaps`: the block's windows are where they were. Whole numbers: their
        # products are sums of a few rows, for which a library of threads would only get in the way.
        first = swaps @ up_to[0] + (1 - swaps) @ up_to[1]
        second = up_to[0].sum(axis=0) + up_to[1].sum(axis=0) - first
        sizes = [swaps @ a + (1 - swaps) @ b for a, b in (self._sizes, self._sizes[::-1])]
        results = (
            edges[(counts >= np.ceil(self._q * size - TIE)[:, None]).argmax(axis=1)]
            for counts, size in zip((first, second), sizes, strict=True)
        )
        return np.asarray(next(results) - next(results), np.float64)


def _quantile(window: Floats, q: float) -> float:
    rank = max(0, math.ceil(q * window.size) - 1)
    return float(np.partition(window, rank)[rank])


def _swaps(count: int, seed: int) -> Counts:
    """Rows of 0 and 1, a column for each block; the first row is what was observed: all 1."""
    if count <= EVERY_MAX:
        return np.array(list(itertools.product((1, 0), repeat=count)), np.int64)
    drawn = np.random.default_rng(seed).integers(0, 2, size=(DRAWS, count))
    return np.vstack([np.ones((1, count), np.int64), drawn])


def spread(windows: Sequence[Floats], q: float, *, seed: int) -> Interval | None:
    """95 % interval of a pooled quantile, windows drawn with replacement; None of too few."""
    if len(windows) < BLOCKS_MIN:
        return None
    logs = [np.sort(window) for window in _finite(windows)]
    ends = [_quantile(window, q) for window in logs]
    edges = np.linspace(min(ends), max(ends) + STEP, BOOT_BINS)
    up_to = np.array([np.searchsorted(window, edges, side="right") for window in logs])
    sizes = np.array([window.size for window in logs])
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(windows), np.full(len(windows), 1 / len(windows)), size=BOOT)
    need = np.ceil(q * (drawn @ sizes) - TIE)
    result = np.exp(edges[(drawn @ up_to >= need[:, None]).argmax(axis=1)])
    lo, hi = (float(np.quantile(result, p)) for p in (ALPHA / 2, 1 - ALPHA / 2))
    return Interval(lo=lo, hi=hi)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What stopping a suspect takes off a cost of the service.

    Attributes:
        name: of the cost.
        with_, without: means over windows.
        more: mean difference; interval: Student's, 95 %, over blocks; None of too few.
    """

    name: str
    with_: float
    without: float
    more: float
    interval: Interval | None

    @property
    def is_more(self) -> bool:
        """Whether it is surely more with the suspect."""
        return self.interval is not None and self.interval.lo > 0


def change(name: str, pairs: Sequence[tuple[float, float]]) -> Change:
    """Compare a cost; `pairs`: with the suspect and without, of each block."""
    values = np.array(pairs, np.float64).reshape(-1, 2)
    differences = values[:, 0] - values[:, 1]
    count, interval = len(differences), None
    mean = float(differences.mean()) if count else 0.0
    if count >= BLOCKS_MIN:
        error = float(differences.std(ddof=1)) / math.sqrt(count)
        half = student(count - 1, 1 - ALPHA) * error
        interval = Interval(lo=mean - half, hi=mean + half)
    means = values.mean(axis=0) if count else np.zeros(2)
    return Change(
        name=name, with_=float(means[0]), without=float(means[1]), more=mean, interval=interval
    )
