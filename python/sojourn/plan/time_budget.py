"""How much time is left: what a plan still begins when its budget is spent, and when it stops.

A budget alone ends nothing on a machine that spoils most runs: each is made again, and a search
without an answer goes on. So there are two ends. When the budget is spent nothing is repeated or
refined any more; when the time beyond it is spent too, what is still open stays open, and the
answer is `unknown`.
"""

from __future__ import annotations

from enum import IntEnum

RESTART_S = 1.5  # stop, start, preload and warm up; typical on loopback
AROUND_S = 0.7  # starting the generator, drain, reading the result


class TimeBudget(IntEnum):
    """How a plan uses its time, in order."""

    IN_TIME = 0
    LATE = 1  # the budget is spent: repeat and refine nothing
    OVER = 2  # so is the time beyond it: begin nothing


def after(spent_s: float, *, late_s: float, over_s: float) -> TimeBudget:
    """How it uses its time after `spent_s`.

    >>> [after(spent_s, late_s=10, over_s=15).name for spent_s in (10, 11, 16)]
    ['IN_TIME', 'LATE', 'OVER']
    """
    if spent_s > over_s:
        return TimeBudget.OVER
    return TimeBudget.LATE if spent_s > late_s else TimeBudget.IN_TIME
