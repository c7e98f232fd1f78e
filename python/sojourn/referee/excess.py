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


def excess(requests: Requests, rate_rps: float) -> str:
    """What came beyond a rate, as a reason; "" if nothing did.

    Args:
        requests: of one load.
        rate_rps: that the tool's command line asks for.
    """
    came, due = requests.n, _due(requests, rate_rps)
    if came - due <= max((MORE - 1) * due, SIGMAS * math.sqrt(due)):
        return ""
    return (
        f"{came:,} requests came where the tool's command line asks for {due:,.0f}: another "
        "client, or several requests in each step; --rate says at which rate users come"
    )


def _due(requests: Requests, rate_rps: float) -> float:
    """Requests that were due, at the most.

    A tool that sends in clumps sends the last one whole, which is due until the next one. So the
    longest gap counts at the end, too.
    """
    if requests.n < 2:
        return float(requests.n)
    gaps = np.diff(requests.start_ns)
    span_ns = int(requests.start_ns[-1] - requests.start_ns[0]) + int(gaps.max())
    return rate_rps * span_ns / 1e9
