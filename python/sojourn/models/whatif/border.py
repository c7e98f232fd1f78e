"""The highest rate within a target, by halving, where quantiles scatter.

Each rate is simulated with the same random numbers. A rate fits if the whole interval of its tail
is within the bound, and does not if none of it is. The border lies between the highest rate up to
which all fit and the lowest that does not. Where the interval holds the bound, nothing is decided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Tail = Callable[[float], tuple[float, float, float]]
STEPS = 9
LEAST = 1e-3  # of the capacity: if not even that fits, nothing does


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """The highest rate: what is sure to fit, the best guess, what is sure not to."""

    lo: float
    value: float
    hi: float


def search(tail: Tail, bound_ns: float, capacity_rps: float) -> Border:
    """Halve between nothing and the capacity.

    Args:
        tail: of a rate: lower end, value and upper end of the quantile, ns.
        bound_ns: of the target.
        capacity_rps: above it nothing can be served.
    """
    seen: dict[float, tuple[float, float, float]] = {}
    lo, hi = 0.0, capacity_rps
    first = LEAST * capacity_rps
    seen[first] = tail(first)
    if seen[first][1] > bound_ns:
        return Border(lo=0.0, value=0.0, hi=first if seen[first][0] > bound_ns else capacity_rps)
    lo = first
    for _ in range(STEPS):
        middle = (lo + hi) / 2
        seen[middle] = tail(middle)
        lo, hi = (middle, hi) if seen[middle][1] <= bound_ns else (lo, middle)
    fits = [rate for rate, ends in seen.items() if ends[2] <= bound_ns]
    not_fit = [rate for rate, ends in seen.items() if ends[0] > bound_ns]
    value = (lo + hi) / 2
    least = max((rate for rate in fits if rate <= value), default=0.0)
    most = min((rate for rate in not_fit if rate >= value), default=capacity_rps)
    return Border(lo=least, value=value, hi=most)
