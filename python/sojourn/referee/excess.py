"""More requests than a tool's command line asks for.

A second client, a step of a script with several requests, or a redirect that is followed: what came
is not the tool's schedule then. What the tool left out is hidden behind it.
"""

from __future__ import annotations

import math

import numpy as np

from sojourn.referee.requests import Requests

MORE = 1.05  # times the rate: no tool sends so much more than it was asked for
SIGMAS = 5.0  # of a Poisson count
WIDE = 0.5  # of the longest gap: such gaps part clumps


def excess(requests: Requests, rate_rps: float) -> str:
    """What came beyond a rate, as a reason; "" if nothing did.

    Args:
        requests: of one load.
        rate_rps: that the tool's command line asks for.
    """
    came, due = _until_last_clump(requests, rate_rps)
    if came - due <= max((MORE - 1) * due, SIGMAS * math.sqrt(due)):
        return ""
    return (
        f"{came:,} requests came where the tool's command line asks for {due:,.0f}: another "
        "client, or several requests in each step; --rate says at which rate users come"
    )


def _until_last_clump(requests: Requests, rate_rps: float) -> tuple[int, float]:
    """Requests before the last clump, and those that were due until it; all without clumps.

    A tool that sends in clumps sends the last one whole, so a count with it would be too large. A
    clump is shorter than the gap before it.
    """
    if requests.n < 2:
        return requests.n, float(requests.n)
    start, gaps = requests.start_ns, np.diff(requests.start_ns)
    last = int(np.flatnonzero(gaps >= WIDE * gaps.max())[-1])
    if start[-1] - start[last + 1] > gaps[last]:
        return requests.n, rate_rps * requests.seconds + 1
    return last + 1, rate_rps * float(start[last + 1] - start[0]) / 1e9
