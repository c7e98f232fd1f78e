"""The signature of a closed loop: requests that follow a reply at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.referee.requests import Requests, Times

GAP_NS_MAX, GAP_NS_MIN = 1_000_000, 50_000
OF_CYCLE = (0.1, 0.5)  # least and most, of the mean time between two requests of a connection
SHORT, TIMES = 0.25, 4.0  # so many times a short gap is still short


@dataclass(frozen=True, slots=True, kw_only=True)
class Turnaround:
    """What followed replies.

    Attributes:
        pairs: requests that are not the first of their connection.
        gap_ns: a request that follows its reply within this was waiting for it.
        share: share of such requests, less what comes so by chance.
        pipelined: share of requests that came before the reply to the one before.
        median_ns: of the times from a reply to the next request; None without pairs.
    """

    pairs: int
    gap_ns: int
    share: float
    pipelined: float
    median_ns: float | None


def gaps_ns(requests: Requests) -> tuple[Times, Times]:
    """From each reply to the next request of its connection, and from request to request."""
    order = np.lexsort((requests.start_ns, requests.connection))
    start, end = requests.start_ns[order], requests.end_ns[order]
    same = np.diff(requests.connection[order]) == 0
    return (start[1:] - end[:-1])[same], np.diff(start)[same]


def turnaround(requests: Requests) -> Turnaround:
    """How many requests followed the reply before them at once.

    A client without a queue sends at times that do not depend on replies, so short gaps come by
    chance only: about `gap / mean gap` of them. That share is taken off.
    """
    gaps, cycles = gaps_ns(requests)
    if not len(gaps):
        return Turnaround(pairs=0, gap_ns=0, share=0.0, pipelined=0.0, median_ns=None)
    limit = _limit_ns(gaps, float(cycles.mean()))
    short = float(((gaps >= 0) & (gaps <= limit)).mean())
    idle = gaps[gaps > limit] - limit
    chance = 1 - np.exp(-limit / float(idle.mean())) if len(idle) else 0.0
    return Turnaround(
        pairs=len(gaps),
        gap_ns=limit,
        share=max(0.0, (short - chance) / (1 - chance)),
        pipelined=float((gaps < 0).mean()),
        median_ns=float(np.median(gaps)),
    )


def _limit_ns(gaps: Times, cycle_ns: float) -> int:
    """What counts as at once: a client with much to do needs longer than one without."""
    least, most = (share * cycle_ns for share in OF_CYCLE)
    usual = TIMES * float(np.quantile(gaps, SHORT))
    return round(min(GAP_NS_MAX, max(GAP_NS_MIN, least, min(usual, most))))
