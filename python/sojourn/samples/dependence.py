"""n / n_eff: by how much dependence between requests shrinks the sample (M9).

Requests that queue behind each other miss the bound together, so the number of misses varies more
than a binomial count would. The ratio of both variances, between consecutive batches of one run, is
the factor by which counts are divided before a binomial test decides (the design effect of cluster
samples; for a quantile it is the same as n / n_eff, since a quantile errs as its exceedance count
does). Exceedances of the run's own quantile are counted, not those of the bound: there are always
some, also where nothing misses.

The slices of the interval log hold every request, so they come first where there are enough; else
raw requests, a thin sample of all.

Source: Law, Simulation Modeling and Analysis (2015), 9.5.3 (batch means); Kish, Survey Sampling
(1965), 8.2 (design effect); Bahadur (1966) for quantiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sojourn.samples.interval import Interval

BATCHES = 30
BATCH_LEAST = 20  # requests; below it a batch's share of exceedances says nothing
SLICES_LEAST, SLICES_ENOUGH = 3, 20


@dataclass(frozen=True, slots=True)
class Dependence:
    """The ratio n / n_eff, at least 1, and what it was found from."""

    ratio: float
    how: str


NO_SAMPLES = Dependence(1.0, "assumed independent: there are neither raw requests nor slices")


def of_run(
    raw_sojourn_ns: NDArray[np.float64] | None,
    slices: Sequence[Interval],
    *,
    requests: int,
    q: float,
) -> Dependence:
    """From the best that was stored.

    Args:
        raw_sojourn_ns: in order of intended arrival; `inf` if lost; None if not kept.
        slices: of the interval log.
        requests: of the run, of which the raw ones are a uniform sample.
        q: quantile whose exceedances are counted.
    """
    if len(slices) >= SLICES_ENOUGH:
        return Dependence(of_slices(slices, q), f"{len(slices)} slices of the interval log")
    if raw_sojourn_ns is not None and len(raw_sojourn_ns) >= BATCHES * BATCH_LEAST:
        value = of_raw(raw_sojourn_ns, q)
        # A thinned sample thins the dependence: of m − 1 companions in a batch, a share is left.
        share = min(1.0, len(raw_sojourn_ns) / max(1, requests))
        ratio = 1 + (value - 1) / share
        return Dependence(ratio, f"{BATCHES} batches of {len(raw_sojourn_ns):,} raw requests")
    if len(slices) >= SLICES_LEAST:
        return Dependence(of_slices(slices, q), f"{len(slices)} slices of the interval log")
    return NO_SAMPLES


def of_raw(sojourn_ns: NDArray[np.float64], q: float) -> float:
    """Variance of exceedance counts between batches over that of independent requests."""
    size = len(sojourn_ns) // BATCHES
    retained = sojourn_ns[: size * BATCHES]
    rank = max(0, int(np.ceil(q * len(retained))) - 1)
    cut = np.partition(retained, rank)[rank]
    over = (retained > cut) if np.isfinite(cut) else ~np.isfinite(retained)
    counts = over.reshape(BATCHES, size).sum(axis=1)
    return _ratio(counts.astype(np.float64), np.full(BATCHES, size, np.float64))


def of_slices(slices: Sequence[Interval], q: float) -> float:
    """The same between slices of the interval log, joined to at most 30 batches of one length."""
    values = np.concatenate([part.sojourn.hi_ns for part in slices])
    counts = np.concatenate([part.sojourn.count for part in slices])
    if not counts.sum():
        return 1.0
    order = np.argsort(values)
    reached = np.searchsorted(np.cumsum(counts[order]), q * counts.sum())
    cut = values[order][min(int(reached), len(order) - 1)]
    first = np.arange(0, len(slices), -(-len(slices) // BATCHES))
    over = np.array([part.sojourn.over(float(cut)) for part in slices], np.float64)
    size = np.array([part.sojourn.total for part in slices], np.float64)
    return _ratio(np.add.reduceat(over, first), np.add.reduceat(size, first))


def _ratio(over: NDArray[np.float64], size: NDArray[np.float64]) -> float:
    share = over.sum() / size.sum()
    if not 0 < share < 1:
        return 1.0
    excess = ((over - share * size) ** 2).sum() / (len(over) - 1)
    return max(1.0, float(excess / (size.mean() * share * (1 - share))))
