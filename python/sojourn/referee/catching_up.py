"""How long a tool catches up after a gap.

A tool catches up while it sends faster than it usually does. Usually is at its rate. But more may
come than that: a load that ramps, a warm-up, a second client. Then what comes long after the gap is
usual, and no burst. Without this all that comes for a long time would be late by the gap.
"""

from __future__ import annotations

import math

import numpy as np

from sojourn.referee.requests import Times

SLACK = 1.2  # a tool catches up while it sends faster than so many times its rate
REACH = 10.0  # as many lengths of the gap a tool may take to catch up
LATER = 0.5  # of this time, after which it has caught up if it sends faster than `SLACK`
BEFORE = 2.0  # lengths of the gap in which the rate just before it shows, if so many come:
ENOUGH = 25
SIGMAS = 2.0  # by which a local rate is lowered: few arrivals show none that is higher by chance


def burst(after: Times, rate_rps: float) -> int:
    """How many requests came faster than the rate, from the first of them on: at least one."""
    number = np.arange(1, len(after) + 1)
    return int(np.argmax(number - SLACK * rate_rps * (after - after[0]) / 1e9)) + 1


def reach(start: Times, at: int) -> int:
    """The first arrival that comes too late for a burst after the gap behind arrival `at`."""
    gap = int(start[at + 1] - start[at])
    return int(np.searchsorted(start, start[at + 1] + REACH * gap, side="right"))


def later_rps(start: Times, at: int) -> float:
    """At which rate requests come long after the gap behind arrival `at`; 0 if none come."""
    begin, gap = int(start[at + 1]), int(start[at + 1] - start[at])
    return _rate(start, begin + LATER * REACH * gap, begin + REACH * gap)


def before_rps(start: Times, at: int, gap_ns: float) -> float:
    """At which rate requests came just before arrival `at`; 0 if too few came to say it."""
    for lengths in (BEFORE, REACH):
        end = float(start[at])
        begin = max(end - lengths * gap_ns, float(start[0]))
        came = at - int(np.searchsorted(start, begin))
        if came >= ENOUGH:
            return float(came / (end - begin) * 1e9)
    return 0.0


def _rate(start: Times, begin_ns: float, end_ns: float) -> float:
    """A rate that is surely reached in a span, as far as the load lasts."""
    end = min(end_ns, float(start[-1]))
    if end <= begin_ns:
        return 0.0
    first, last = np.searchsorted(start, (begin_ns, end))
    came = int(last - first)
    surely = max(0.0, came - SIGMAS * math.sqrt(came))
    return surely / (end - begin_ns) * 1e9
