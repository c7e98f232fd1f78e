"""Which misses of the QoS bound belong together (M28).

Requests that queue behind one cause miss together, so a run tells as much as it has clusters of
misses, not as much as it has misses. Two of them belong to one cluster unless they were due further
apart than an excursion above the bound and its recovery last: five times the bound and 10 ms. The
generator counts misses by windows of half a bound; no cluster is cut by that.

Records without such windows have raw requests at best, a thin sample of all: its clusters are
brought to the true number of misses. Clusters of which nothing was sampled are missing, the others
are as much larger: the run seems to tell less than it does, never more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sojourn.plan.points import Misses
from sojourn.samples.contract import Windows

BOUNDS, SPARE_NS = 5, 10_000_000


def of_windows(windows: Windows, bound_ns: float, *, is_undisturbed: bool = False) -> Misses:
    """Requests, misses and clusters of a run.

    Args:
        windows: as the generator counted them.
        bound_ns: of the QoS target, ns.
        is_undisturbed: leave out the windows that an independent log marks. Misses on both sides of
            them are distinguished by time alone, as everywhere.
    """
    n, k = np.array(windows.n, np.int64), np.array(windows.k, np.int64)
    if is_undisturbed:
        n[list(windows.disturbed)] = k[list(windows.disturbed)] = 0
    at = np.flatnonzero(k)
    sizes = _sums(at.astype(np.float64) * windows.length_ns, k[at], bound_ns)
    return Misses(requests=int(n.sum()), over=int(k.sum()), clusters=sizes)


def of_times(due_ns: NDArray[np.float64], over: int, bound_ns: float) -> tuple[int, ...]:
    """Clusters of `over` misses, of which a uniform sample was due at `due_ns` (ascending, ns)."""
    if not over or not len(due_ns):
        return ()
    return scaled(_sums(due_ns, np.ones(len(due_ns), np.int64), bound_ns), over)


def alike(over: int, correlation: float) -> tuple[int, ...]:
    """Clusters of one size, where nothing but the run's n / n_eff is known."""
    pieces = round(over / max(1.0, correlation))
    return scaled((1,) * max(1, min(over, pieces)), over) if over else ()


def scaled(sizes: tuple[int, ...], total: int) -> tuple[int, ...]:
    """The same shares of a `total` of at least 1, in whole numbers (largest remainder), none 0.

    >>> scaled((1, 1, 2), 10)
    (3, 2, 5)
    """
    exact = np.array(sizes, float) * total / sum(sizes)
    whole = np.floor(exact).astype(np.int64)
    rest = total - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:rest]] += 1
    return tuple(int(size) for size in whole if size)


def _sums(
    at_ns: NDArray[np.float64], counts: NDArray[np.int64], bound_ns: float
) -> tuple[int, ...]:
    """Sums of `counts` between gaps; `at_ns` ascending."""
    if not len(at_ns):
        return ()
    is_first = np.r_[True, np.diff(at_ns) > BOUNDS * bound_ns + SPARE_NS]
    return tuple(int(size) for size in np.add.reduceat(counts, np.flatnonzero(is_first)))
