"""How much late sends, and stops of the server, can have added to the times of a run (M3, M33)."""

from __future__ import annotations

import math

from sojourn import quantiles
from sojourn.plan.evidence import is_of_server
from sojourn.samples.contract import LoadResult

_OF_SENDS = {"send lag", "timely"}  # the generator's checks of when requests were sent
_OF_SERVER = "server stopped"  # its check of whether the server's CPUs ran


def is_logged(result: LoadResult) -> bool:
    """Whether a log has all stops of the server's CPUs (M29)."""
    return result.server_stops is not None and result.server_stops.is_whole


def is_server_unknown(result: LoadResult) -> bool:
    """Whether the server's CPUs were stopped for too long, and no log has the times."""
    return not is_logged(result) and any(map(is_of_server, result.lateness))


def latest_ns(result: LoadResult) -> float:
    """The most that the client can have added to any request, ns: its latest send, its longest gap.

    Had each request been as late as the latest, every completion would have been late by that and
    no more (Lindley's recursion). A reply waits for the next poll.
    """
    return (result.pick_up_ns.max or 0.0) + (result.checks.poll_gap_max_ns or 0.0)


def added_ns(result: LoadResult) -> dict[float | None, float] | None:
    """What was added at most, ns, by quantile (None: the mean); None: the times bound nothing.

    Where the sends were late by more than the lag that the generator bounds, all quantiles are too
    high by `latest_ns` at most. Where a log has the stops of the server's CPUs, the times are as
    they were experienced: nothing bounds from below what they would be without the stops.
    """
    if result.lateness_ns is not None:
        lag = result.pick_up_ns
        known: dict[float | None, float | None] = {None: lag.mean}
        known |= {q: lag.at(q) for q in quantiles.ALL}
        return {q: ns for q, ns in known.items() if ns is not None}
    late = {why.partition(":")[0] for why in result.lateness}
    if not late <= {*_OF_SENDS, _OF_SERVER} or is_server_unknown(result):
        return None
    most = math.inf if _OF_SERVER in late else latest_ns(result)
    return {None: most, 1.0: most} if late else {}
