"""What a run says from which stops of the client excluded much (M27, M33).

The lab reads runs by these rules, and the simulated queues of `analysis.served` are read by them.
"""

from __future__ import annotations

from sojourn.plan.evidence import OVERLOAD
from sojourn.samples.contract import LoadResult

EXCLUDED_MAX = 0.8  # of the requests; what stops leave is known up to it (M33)
VOID_MAX = 0.9  # of the requests; beyond it what is left says nothing
VOID_LEAST = 0.5  # of the misses of a void run: what would have missed without the stops (M33)
STOPPED_MAX = 0.1  # of the time; a client that was stopped for longer shows nothing
BEHIND_MIN, BEHIND_STOPS = 0.02, 3.0  # share not completed: in any case, and for each share stopped


def surely_of_void(misses: int, excluded: float) -> int:
    """Of the misses in what a void run has left, those that the service surely has by itself.

    A run in which all miss is not the same as one in which none does (`bench/search/void.py`).

    >>> surely_of_void(9, 0.6), surely_of_void(9, 0.95)
    (4, 0)
    """
    return int(VOID_LEAST * misses) if excluded <= VOID_MAX else 0


def is_overrun(missed: float, behind: float, stopped: float) -> bool:
    """Whether the server fell behind by far more than the client's stops explain.

    Such a run fails its target whatever was left out of it: no client makes a server that keeps up
    complete 90 of 100 requests by standing still for 3 % of the time (M27).

    Args:
        missed: share of the requests that missed the bound.
        behind: share of the requests that had no reply at the end.
        stopped: share of the time.

    >>> is_overrun(0.5, 0.2, 0.03), is_overrun(0.5, 0.1, 0.03), is_overrun(0.5, 0.9, 0.2)
    (True, False, False)
    """
    limit = BEHIND_MIN + BEHIND_STOPS * stopped
    return stopped <= STOPPED_MAX and missed >= OVERLOAD and behind > limit


def is_overrun_run(result: LoadResult) -> bool:
    """The same of one run of the generator."""
    windows = result.windows
    if windows is None or not result.offered_rps:
        return False
    missed = sum(windows.k) / max(1, sum(windows.n))
    behind = 1 - result.achieved_rps / result.offered_rps
    return is_overrun(missed, behind, result.outages.share_time)
