"""A predicted number and its interval."""

from __future__ import annotations

from dataclasses import dataclass

COVERAGE = 0.9  # of the intervals: a dozen doses cannot show more


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """One number with its interval."""

    value: float
    lo: float
    hi: float
