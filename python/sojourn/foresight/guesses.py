"""Simpler guesses of the same border, which a forecast has to beat."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.foresight.ruler import taken
from sojourn.foresight.victims import Victim

NO_CHANGE, SUM, FAIR = "no change", "utilisation sum", "fair share"
FAIR_LEAST = 0.5  # two groups of equal weight: each gets a half if it wants it


def wanted(rulers: Sequence[tuple[Victim, str]]) -> float | None:
    """The most CPUs' worth a neighbour took beside others; None if no run says it."""
    known = [share for one, level in rulers if (share := taken(one.levels[level])) is not None]
    return max(known) if known else None


def of(alone_rps: float, rulers: Sequence[tuple[Victim, str]]) -> dict[str, float]:
    """Borders by name of the guess, requests/s."""
    share = wanted(rulers)
    gathered = {NO_CHANGE: alone_rps}
    if share is not None:
        left = max(0.0, 1.0 - share)
        gathered[SUM] = alone_rps * left
        gathered[FAIR] = alone_rps * max(left, FAIR_LEAST)
    return gathered
