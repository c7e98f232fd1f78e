"""Simpler guesses of the same border, which a forecast has to beat."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean

from sojourn.foresight.ruler import effect, taken
from sojourn.foresight.victims import Victim

NO_CHANGE, SUM, FAIR = "no change", "utilisation sum", "fair share"
MEAN = "mean of others"
NAMES = (NO_CHANGE, SUM, FAIR, MEAN)
FAIR_LEAST = 0.5  # two groups of equal weight: each gets a half if it wants it


def wanted(rulers: Sequence[tuple[Victim, str]]) -> float | None:
    """The most CPUs' worth a neighbour took beside others; None if no run says it."""
    known = [share for one, level in rulers if (share := taken(one.levels[level])) is not None]
    return max(known) if known else None


def of(
    alone_rps: float, rulers: Sequence[tuple[Victim, str]], q: float, bound_ns: float
) -> dict[str, float]:
    """Borders by name of the guess, requests/s.

    Args:
        alone_rps: of the service.
        rulers: other services, each with the level at which the neighbour ran.
        q: the target's quantile.
        bound_ns: its bound, ns.
    """
    share = wanted(rulers)
    gathered = {NO_CHANGE: alone_rps}
    if share is not None:
        left = max(0.0, 1.0 - share)
        gathered[SUM] = alone_rps * left
        gathered[FAIR] = alone_rps * max(left, FAIR_LEAST)
    if rulers:  # what others keep, without a look at doses
        each = (effect(one, one.levels[level], q, bound_ns) for one, level in rulers)
        gathered[MEAN] = alone_rps * mean(math.exp(log) for log in each)
    return gathered
