"""The quantiles that results hold, reports show and intervals are made for.

One more is one more number here, and one more line in `crates/base/src/quantiles.rs`.
"""

from __future__ import annotations

from functools import cache

ALL: tuple[float, ...] = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)


@cache
def key(q: float) -> str:
    """The key of a quantile in results.

    >>> [key(q) for q in (0.5, 0.95, 0.999, 0.9999)]
    ['p50', 'p95', 'p999', 'p9999']
    """
    digits = f"{q:.10f}".partition(".")[2].rstrip("0")
    return f"p{digits.ljust(2, '0')}"


def keys() -> dict[str, float]:
    """Every quantile by its key, lowest first."""
    return {key(q): q for q in ALL}


def falling(highest: float = 1.0) -> tuple[float, ...]:
    """Those up to a highest one, highest first."""
    return tuple(q for q in reversed(ALL) if q <= highest)
