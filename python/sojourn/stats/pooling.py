"""Numbers of several runs put together: means over all their requests, medians of the runs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def mean(parts: Sequence[tuple[int, float | None]]) -> float | None:
    """Mean over all requests: each part with its number of requests; None if none is known.

    >>> mean([(1000, 1.0), (3000, 2.0), (9000, None)]), mean([(0, 1.0)])
    (1.75, None)
    """
    known = [(n, value) for n, value in parts if value is not None]
    total = sum(n for n, _ in known)
    return sum(n * value for n, value in known) / total if total else None


def middle(values: Sequence[float]) -> float | None:
    """Median of several runs, each of which counts alike; None without any."""
    return median(values) if values else None
