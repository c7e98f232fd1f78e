"""Cumulative counts of a load's histogram, from shares and their times."""

from __future__ import annotations

import math

from sojourn.findings.load_point import LoadPoint

_ROUNDING = 1e-9  # as `Times.quantile` has it


def cumulative(point: LoadPoint) -> list[tuple[float, int]]:
    """(ns, requests that surely took no longer), both ascending; no time comes twice.

    The time at a share is that of a rank, so as many requests took no longer. Where several shares
    have the same time, the greatest of them counts.
    """
    reached: dict[float, int] = {}
    for share, ns in point.distribution:
        if math.isfinite(ns):
            rank = max(1, math.ceil(share * point.mean.requests - _ROUNDING))
            reached[ns] = max(reached.get(ns, 0), min(rank, point.mean.requests))
    pairs: list[tuple[float, int]] = []
    for ns in sorted(reached):
        pairs.append((ns, max(reached[ns], pairs[-1][1] if pairs else 0)))
    return pairs
