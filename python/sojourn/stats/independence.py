"""How much less the requests tell because each depends on the one before.

Requests that queue behind each other share their fate: n of them carry the information of
n_eff = n / (1 + 2 Σ ρ_k) independent ones (M9). Three estimates of the ratio n / n_eff:

- `of_values`: raw times in order; ρ_k is Spearman's, summed to the first lag that is not
  significant. Needs raw requests.
- `of_batches`: from one histogram per slice of the run, such as a second: how much more the number
  of requests above the quantile varies between slices than independent requests would make it vary.
  This is the method of batch means, for the quantile itself (Bahadur: a quantile errs as its
  exceedance count does).
- the caller's own, measured by the generator, where there is neither.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sojourn.half_width import normal, student
from sojourn.stats.method import Method
from sojourn.stats.times import Floats, Times, merge

METHOD = Method(
    name="independence",
    about="n / n_eff: by how much dependence between requests shrinks the sample",
    ids=("M9",),
    source="Geyer, Practical MCMC (1992), section 3; Law, Simulation Modeling (2015), 9.5.3",
)

LAGS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
BATCHES_MIN = 8
BATCHES = 20  # few long batches: a batch has to outlast the dependence


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """What raw times in order say about dependence.

    Attributes:
        lags: (lag, Spearman's ρ at it) for M9's lags.
        first_insignificant: first lag at which ρ is not above its 95 % noise limit.
        block: length for a moving-block bootstrap, requests.
        correlation: n / n_eff, at least 1.
    """

    lags: tuple[tuple[int, float], ...]
    first_insignificant: int
    block: int
    correlation: float


def of_values(sojourn_ns: Floats) -> Dependence:
    """Dependence of raw sojourn times in order of intended arrival; `inf` ranks highest."""
    n = len(sojourn_ns)
    rho = _rank_autocorrelation(np.asarray(sojourn_ns, float))
    limit = normal() / math.sqrt(max(n, 1))
    below = np.flatnonzero(rho[1:] < limit)
    first = int(below[0]) + 1 if below.size else len(rho)
    ratio = 1 + 2 * float(rho[1:first].sum())
    return Dependence(
        lags=tuple((lag, float(rho[lag])) for lag in LAGS if lag < len(rho)),
        first_insignificant=first,
        block=2 * first,
        correlation=max(1.0, ratio),
    )


def _rank_autocorrelation(values: Floats) -> Floats:
    """Spearman's ρ at every lag below n / 2: autocorrelation of the ranks, by FFT."""
    n = len(values)
    rank = _ranks(values) - (n + 1) / 2
    if n < 4 or not rank.any():
        return np.array([1.0])
    spectrum = np.fft.rfft(rank, 2 * n)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum), 2 * n)[: max(2, n // 2)]
    return np.asarray(covariance / covariance[0])


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, means of equal values: as scipy.stats.rankdata, which takes 0.5 s to load.

    >>> _ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    _, where, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[where], np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batched:
    """Ratio n / n_eff by batches, at least 1, and the degrees of freedom it was found with."""

    ratio: float
    freedom: float


def of_batches(slices: Sequence[Times], q: float | None) -> Batched | None:
    """Ratio n / n_eff for one quantile, from histograms of consecutive slices of a run.

    The number above the quantile is compared with its binomial variance, batch by batch; for the
    mean (`q` None) the batch means with theirs.

    Returns:
        None with fewer than 8 slices.
    """
    cut = batches(slices)
    return None if cut is None else of_cut(cut, q)


@dataclass(frozen=True, slots=True)
class Cut:
    """A run in batches, and all of it together."""

    batches: tuple[Times, ...]
    total: Times


def batches(slices: Sequence[Times]) -> Cut | None:
    """At most 39 batches of consecutive slices, as long as each other; None with fewer than 8."""
    length = max(1, len(slices) // BATCHES)
    whole = len(slices) // length * length
    results = [merge(slices[i : i + length]) for i in range(0, whole, length)]
    selected = tuple(batch for batch in results if batch.n)
    return Cut(selected, merge(selected)) if len(selected) >= BATCHES_MIN else None


def of_cut(cut: Cut, q: float | None) -> Batched:
    """Ratio n / n_eff for one quantile, or for the mean (None), from batches of a run."""
    size = np.array([batch.n for batch in cut.batches], float)
    excess, variance = _excess(cut.batches, cut.total, q)
    freedom = len(cut.batches) - 1
    if variance <= 0:
        return Batched(ratio=1.0, freedom=freedom)
    ratio = float((excess**2).sum()) / freedom / (float(size.mean()) * variance)
    return Batched(ratio=max(1.0, ratio), freedom=freedom)


def widened(batch_ratio: Batched, confidence: float) -> float:
    """The ratio raised by (t / z)²: it makes Student's interval of the normal one built on it.

    With few batches the variance itself is uncertain, and the normal interval too narrow.
    """
    if batch_ratio.ratio <= 1 or math.isinf(batch_ratio.freedom):
        return batch_ratio.ratio
    return batch_ratio.ratio * _widening(batch_ratio.freedom, confidence)


@functools.lru_cache(maxsize=1024)
def _widening(freedom: float, confidence: float) -> float:
    return (student(freedom, confidence) / normal(confidence)) ** 2


def _excess(batches: Sequence[Times], total: Times, q: float | None) -> tuple[Floats, float]:
    """Per batch the sum of (x − its mean over all), and the variance of one x."""
    size = np.array([batch.n for batch in batches], float)
    if q is None:
        moments = total.moments()
        if moments is None:
            return np.zeros(len(batches)), 0.0
        sums = [np.dot((b.lo_ns + b.hi_ns) / 2, b.count) for b in batches]
        finite = np.array([batch.finite for batch in batches], float)
        return np.array(sums) - moments[0] * finite, moments[1]
    cut = total.quantile(q)
    if cut is None or math.isinf(cut):
        over = np.array([batch.lost for batch in batches], float)
    else:
        over = np.array([batch.over(cut) for batch in batches], float)
    share = float(over.sum() / size.sum())
    return over - share * size, share * (1 - share)
