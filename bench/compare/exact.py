"""Exact intervals of shares, for the tables of this folder."""

from __future__ import annotations

from scipy import stats


def interval(found: int, many: int) -> tuple[float, float]:
    """Both ends of the 95 % interval of a share (Clopper and Pearson)."""
    low = 0.0 if not found else float(stats.beta.ppf(0.025, found, many - found + 1))
    high = 1.0 if found == many else float(stats.beta.ppf(0.975, found + 1, many - found))
    return low, high
