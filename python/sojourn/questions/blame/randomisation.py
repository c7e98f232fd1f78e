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

Lost requests are longer than all that completed; by how much no one knows. So a quantile that they
decide is infinite: in the test it lies beyond every ratio that is sought. Where one of the two is,
there is no ratio but a bound: the longest request that completed over the other quantile. Where
both are, nothing can be compared.

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

from sojourn.stats.bootstrap import left_out
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
FAR = 3 * math.log(RATIO_MAX)  # beyond all finite times: where a quantile of lost requests is put
BISECTIONS = 9
BOOT, BOOT_BINS = 1000, 300
ABOVE_MIN = 5  # requests above the quantile, of either side

Pairs = Sequence[tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """A quantile with a suspect over the same without it.

    Attributes:
        with_ns, without_ns: pooled over blocks; `inf`: requests that never completed decide it.
        ratio: None if refused; `inf` or 0 where lost requests decide one of the two.
        interval: 95 %; an end that was not found is `RATIO_MAX` or its inverse, or the ratio itself
            where that lies beyond. Of an infinite ratio the lower end is a bound, of 0 the upper;
            0 and `inf` where the test does not show it.
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
        if self.p_holm >= ALPHA or self.interval is None or self.ratio is None:
            return False
        return self.ratio > 1 and (self.interval.lo > 1 or math.isinf(self.ratio))

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
    if result.with_ns == result.without_ns == math.inf:
        return replace(result, refused="lost requests decide the quantile with it and without it")
    test = _Test(_logarithms([*with_ns, *without_ns]), q, seed)
    p = test.p(0.0)
    ratio, interval = _bound(result, [*with_ns, *without_ns], p) or (
        math.exp(test.statistic(0.0)),
        Interval(lo=math.exp(test.end(-1)), hi=math.exp(test.end(1))),
    )
    return replace(
        result,
        ratio=ratio,
        p=p,
        interval=interval,
        with_interval=spread(with_ns, q, seed=seed),
        without_interval=spread(without_ns, q, seed=seed),
    )


def _bound(one: Contrast, windows: Sequence[Floats], p: float) -> tuple[float, Interval] | None:
    """Ratio and interval where one of the two quantiles is infinite; None where neither is.

    `p` says whether they differ; by how much at least, what completed says.
    """
    with_ns, without_ns = one.with_ns or 1.0, one.without_ns or 1.0
    longest_ns = max(float(w[np.isfinite(w)].max(initial=1.0)) for w in windows)
    if with_ns == math.inf:
        lo = longest_ns / without_ns if p <= ALPHA else 0.0
        return math.inf, Interval(lo=lo, hi=math.inf)
    if without_ns == math.inf:
        hi = with_ns / longest_ns if p <= ALPHA else math.inf
        return 0.0, Interval(lo=0.0, hi=hi)
    return None


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


def _logarithms(windows: Sequence[Floats]) -> list[Floats]:
    """Logarithms of times in ns, ascending; lost requests stay infinite."""
    return [np.sort(np.log(np.clip(window, 1.0, None))) for window in windows]


def _between(windows: Sequence[Floats], q: float) -> tuple[float, float]:
    """Ends of where each finite quantile of any of these windows together lies.

    Args:
        windows: logarithms, ascending; beyond the finite quantiles lie, where a window's own is
            infinite, times of the others.
        q: quantile in (0, 1).
    """
    ends = [_quantile(window, q) for window in windows]
    known = [end for end in ends if math.isfinite(end)]
    if len(known) < len(ends):
        known += [float(window[np.isfinite(window)].max(initial=0.0)) for window in windows]
    return min(known, default=0.0), max(known, default=0.0)


class _Test:
    """The randomisation test of one comparison, at any ratio that is assumed to be true."""

    def __init__(self, logs: Sequence[Floats], q: float, seed: int) -> None:
        """`logs`: of the times with the suspect by block, then of those without."""
        count = len(logs) // 2
        ordered = [np.sort(window) for window in logs]
        self._with, self._without = ordered[:count], ordered[count:]
        self._sizes = [np.array([w.size for w in side]) for side in (self._with, self._without)]
        self._q = q
        self._lo, self._hi = _between(ordered, q)
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
        edges = np.append(np.linspace(low, high + STEP, bins), np.inf)  # the last: of lost ones
        up_to = [
            np.array([np.searchsorted(window, edges + off, side="right") for window in side])
            for side, off in ((self._with, shift), (self._without, 0.0))
        ]
        # 1 in a row of `swaps`: the block's windows are where they were. Whole numbers: their
        # products are sums of a few rows, for which a library of threads would only get in the way.
        first = swaps @ up_to[0] + (1 - swaps) @ up_to[1]
        second = up_to[0].sum(axis=0) + up_to[1].sum(axis=0) - first
        sizes = [swaps @ a + (1 - swaps) @ b for a, b in (self._sizes, self._sizes[::-1])]
        edges[-1] = high + FAR
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
    """95 % interval of a pooled quantile, windows drawn with replacement; None of too few.

    An end is infinite where lost requests decide the quantile in the draws beyond it.
    """
    if len(windows) < BLOCKS_MIN:
        return None
    logs = _logarithms(windows)
    low, high = _between(logs, q)
    edges = np.append(np.linspace(low, high + STEP, BOOT_BINS), np.inf)
    up_to = np.array([np.searchsorted(window, edges, side="right") for window in logs])
    sizes = np.array([window.size for window in logs])
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(windows), np.full(len(windows), 1 / len(windows)), size=BOOT)
    need = np.ceil(q * (drawn @ sizes) - TIE)
    result = np.exp(edges[(drawn @ up_to >= need[:, None]).argmax(axis=1)])
    below = left_out(ALPHA / 2, len(windows))
    lo = float(np.quantile(result, below, method="lower"))
    return Interval(lo=lo, hi=float(np.quantile(result, 1 - below, method="higher")))
