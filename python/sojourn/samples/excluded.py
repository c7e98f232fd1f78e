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
BEHIND_TAKEN = 1.5  # for each share of the server's CPUs that others took: their caches come on top


def surely_of_void(misses: int, excluded: float) -> int:
    """Of the misses in what a void run has left, those that the service surely has by itself.

    A run in which all miss is not the same as one in which none does (`bench/search/void.py`).

    >>> surely_of_void(9, 0.6), surely_of_void(9, 0.9), surely_of_void(9, 0.95)
    (4, 4, 0)
    """
    return int(VOID_LEAST * misses) if excluded <= VOID_MAX else 0


def is_overrun(missed: float, behind: float, stopped: float, taken: float = 0.0) -> bool:
    """Whether the server fell behind by far more than stops of client and server explain.

    Such a run fails its target whatever was left out of it: no client makes a server that keeps up
    complete 90 of 100 requests by standing still for 3 % of the time (M27). A server that would
    keep up with all of its CPUs falls behind by the share of them that others take (M29).

    Args:
        missed: share of the requests that missed the bound.
        behind: share of the requests that had no reply at the end.
        stopped: share of the time.
        taken: share of the time of the server's CPUs that others used.

    >>> is_overrun(0.5, 0.12, 0.03), is_overrun(0.5, 0.1, 0.03), is_overrun(0.5, 0.9, 0.2)
    (True, False, False)
    >>> is_overrun(1.0, 0.07, 0.002), is_overrun(1.0, 0.07, 0.002, taken=0.1)
    (True, False)
    """
    limit = BEHIND_MIN + BEHIND_STOPS * stopped + BEHIND_TAKEN * taken
    return stopped <= STOPPED_MAX and missed >= OVERLOAD and behind > limit


def is_overrun_run(result: LoadResult) -> bool:
    """The same of one run of the generator."""
    windows = result.windows
    if windows is None:
        return False
    missed = sum(windows.k) / max(1, sum(windows.n))
    return is_overrun(missed, _behind(result), result.outages.share_time, _taken(result))


def overload(result: LoadResult) -> tuple[str, ...]:
    """The reason that makes a client late: a server that falls behind holds all its connections."""
    if not is_overrun_run(result):
        return ()
    return (f"overloaded: {_behind(result):.0%} of the requests had no reply at the end",)


def is_starved_run(result: LoadResult) -> bool:
    """Whether the server may have fallen behind because others took its CPUs.

    Its queue was not empty between the stops then. So no miss is surely its own, also not of those
    that the log of the stops leaves (M29).
    """
    return BEHIND_MIN < _behind(result) <= BEHIND_MIN + BEHIND_TAKEN * _taken(result)


def _behind(result: LoadResult) -> float:
    """Share of the requests that had no reply at the end; 0.0 in a closed loop."""
    if not result.offered_rps:
        return 0.0
    return 1 - result.achieved_rps / result.offered_rps


def _taken(result: LoadResult) -> float:
    """Share of the time of the server's CPUs that was taken from it, but not on purpose."""
    is_on_purpose = result.job.get("disturbed_share_max") == 1.0
    stops = result.server_stops
    others = stops.share_taken if stops is not None and not is_on_purpose else 0.0
    return max(others, result.checks.server_steal_share or 0.0)
