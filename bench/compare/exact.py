"""Exact intervals of shares, for the tables of this folder."""

from __future__ import annotations

from scipy import stats


def interval(count: int, many: int) -> tuple[float, float]:
    """Both ends of the 95 % interval of a share (Clopper and Pearson)."""
    low = 0.0 if not count else float(stats.beta.ppf(0.025, count, many - count + 1))
    high = 1.0 if count == many else float(stats.beta.ppf(0.975, count + 1, many - count))
    return low, high
