"""Silences that may be slow requests, and no stop of the server.

While all connections of a tool wait for replies, it sends nothing. The server may stand still then,
or each of these requests may take long by itself, and another user would have his reply at once. A
server that stood still answers those that waited first, and at one time. So it was none if half of
them wait on for long, while requests that came later have their replies. Of one request that waits
alone nothing shows which it was.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sojourn.referee.requests import Requests

Floats = NDArray[np.float64]
ON = 0.1  # of the silence; half of those that waited wait so much longer
MUCH = 0.3  # of all waits in silences; if as many may be of slow requests, any of them may


def is_unsure(requests: Requests, last: int, begin_ns: int, resume_ns: int) -> bool:
    """Whether a silence may be one of slow requests.

    Args:
        requests: of one load.
        last: index of the last request before the silence.
        begin_ns: its arrival.
        resume_ns: first reply after the silence.
    """
    ends = requests.end_ns[: last + 1]
    waited = np.sort(ends[ends >= resume_ns])
    if len(waited) < 2:
        return True
    half_ns = int(waited[len(waited) // 2])
    if half_ns - resume_ns <= ON * (resume_ns - begin_ns):
        return False
    later = slice(*np.searchsorted(requests.start_ns, (resume_ns, half_ns)))
    if later.start == requests.n:
        return True  # the load ended in it: no later request can show anything
    return int((requests.end_ns[later] < half_ns).sum()) >= math.ceil(len(waited) / 2)


def waits_at_once_ns(requests: Requests, users: int, seed: int) -> Floats:
    """Waits of users who would have been answered as requests at any time: as some of those."""
    at = np.random.default_rng(seed).integers(0, requests.n, users)
    return np.asarray(requests.total_ns[at], np.float64)
