"""Many times in order: the one form in which every method here takes them.

A histogram and a list of raw values are the same thing at different widths: bins with a count, and
beside them the requests that never completed, which stand above every bin (+infinity in the order).
A raw value is a bin of width zero. So one implementation of each method serves both, and the width
of a bin is never forgotten: a rank gives back both edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sojourn.samples.histogram import Histogram, decode

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Times of requests, ascending, in bins.

    Attributes:
        lo_ns, hi_ns: lowest and highest time that a bin can hold, ns, shape (bins,).
        count: requests per bin, shape (bins,), none zero.
        lost: requests that never completed.
    """

    lo_ns: Floats
    hi_ns: Floats
    count: Counts
    lost: int = 0

    @property
    def finite(self) -> int:
        """How many requests completed, lost ones left out."""
        return int(self.count.sum())

    @property
    def n(self) -> int:
        """All requests, lost ones included."""
        return self.finite + self.lost

    def at_rank(self, rank: int) -> tuple[float, float]:
        """Both edges of the bin that holds the `rank`-th smallest time (from 1), ns."""
        if rank > self.finite:
            return (math.inf, math.inf)
        index = int(np.searchsorted(np.cumsum(self.count), rank, side="left"))
        return (float(self.lo_ns[index]), float(self.hi_ns[index]))

    def quantile(self, q: float) -> float | None:
        """The time at rank ceil(q n), upper edge of its bin, ns; None without requests.

        The upper edge is what `HdrHistogram` and the generator print.
        """
        if self.n == 0:
            return None
        return self.at_rank(max(1, math.ceil(q * self.n - 1e-9)))[1]

    def over(self, bound_ns: float) -> int:
        """Requests above `bound_ns` or lost; a bin that straddles the bound counts as above."""
        return int(self.count[self.hi_ns > bound_ns].sum()) + self.lost

    def moments(self) -> tuple[float, float] | None:
        """Mean (ns) and variance (ns²) of the finite times, by bin centres; None without any."""
        n = self.finite
        if n == 0:
            return None
        middle = (self.lo_ns + self.hi_ns) / 2
        mean = float(np.dot(middle, self.count) / n)
        return mean, float(np.dot((middle - mean) ** 2, self.count) / max(1, n - 1))


class Packed(Times):
    """Times of a histogram that stands packed, and is unpacked while it is looked at.

    A campaign's runs would take a gigabyte unpacked; packed they take some 3 kB each, and analysis
    looks at the runs of one combination at a time.
    """

    __slots__ = ("_at", "_text")
    _at: str
    _text: str

    def __init__(self, text: str, *, lost: int, at: str) -> None:
        """A histogram as the generator wrote it; `at`: where it is, for a message."""
        object.__setattr__(self, "_text", text)
        object.__setattr__(self, "_at", at)
        object.__setattr__(self, "lost", lost)

    @property
    def lo_ns(self) -> Floats:
        """Lower ends of the bins, ns; unpacked now."""
        return _unpacked(self._text, self._at).lo_ns

    @property
    def hi_ns(self) -> Floats:
        """Upper ends of the bins, ns; unpacked now."""
        return _unpacked(self._text, self._at).hi_ns

    @property
    def count(self) -> Counts:
        """How many times each bin holds; unpacked now."""
        return _unpacked(self._text, self._at).count


@lru_cache(maxsize=512)
def _unpacked(text: str, at: str) -> Histogram:
    return decode(text, at=at)


EMPTY = Times(lo_ns=np.empty(0), hi_ns=np.empty(0), count=np.empty(0, np.int64))


def from_histogram(histogram: Histogram, *, lost: int = 0) -> Times:
    """A histogram of finite times and, beside it, the requests that never completed."""
    return Times(lo_ns=histogram.lo_ns, hi_ns=histogram.hi_ns, count=histogram.count, lost=lost)


def from_values(values_ns: Floats) -> Times:
    """Raw times, ns; `inf` for a request that never completed. Order does not matter."""
    values = np.asarray(values_ns, float)
    finite, count = np.unique(values[np.isfinite(values)], return_counts=True)
    lost = int(values.size - count.sum())
    return Times(lo_ns=finite, hi_ns=finite, count=count.astype(np.int64), lost=lost)


def merge(parts: Iterable[Times]) -> Times:
    """All requests of all parts together: lossless, commutative."""
    selected = [part for part in parts if part.n]
    if not selected:
        return EMPTY
    if len(selected) == 1:
        return selected[0]
    lo = np.concatenate([part.lo_ns for part in selected])
    hi = np.concatenate([part.hi_ns for part in selected])
    count = np.concatenate([part.count for part in selected])
    order = np.lexsort((hi, lo))
    lo, hi = lo[order], hi[order]
    is_new = np.r_[True, (np.diff(lo) != 0) | (np.diff(hi) != 0)] if lo.size else np.empty(0, bool)
    start = np.flatnonzero(is_new)
    total = np.add.reduceat(count[order], start) if lo.size else np.empty(0, np.int64)
    lost = sum(part.lost for part in selected)
    return Times(lo_ns=lo[start], hi_ns=hi[start], count=total, lost=lost)
