"""Quantiles of waits at the server's side and of users, with intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sojourn.referee.judgement import Number
from sojourn.referee.requests import Requests
from sojourn.referee.waits import Waits
from sojourn.stats import independence, quantiles
from sojourn.stats.interval import Estimate
from sojourn.stats.times import from_values

QUANTILES = (0.5, 0.9, 0.99, 0.999)


def numbers(requests: Requests, users: Waits | None) -> tuple[Number, ...]:
    """One number for each quantile; none without requests.

    Args:
        requests: as the server's side saw them.
        users: what users would have waited; None: not reconstructed.
    """
    if not requests.n:
        return ()
    total = requests.total_ns.astype(np.float64)
    server = list(zip(_estimates(total), _quantiles(total), strict=True))
    if users is None:
        return tuple(
            Number(q=q, server=one, server_here=own, users=None, here=None, lo=None, hi=None)
            for q, (one, own) in zip(QUANTILES, server, strict=True)
        )
    columns = (users.wait_ns, users.lo_ns, users.hi_ns)
    each = zip(*map(_quantiles, columns), strict=True)
    return tuple(
        Number(q=q, server=one, server_here=own, users=waited, here=here, lo=lo, hi=hi)
        for q, (one, own), waited, (here, lo, hi) in zip(
            QUANTILES, server, _estimates(users.wait_ns), each, strict=True
        )
    )


def first_byte_ns(requests: Requests) -> tuple[float, ...]:
    """Quantiles of the time from arrival to the first byte of the reply; none without requests."""
    times = (requests.first_ns - requests.start_ns).astype(np.float64)
    return tuple(_quantiles(times)) if requests.n else ()


def _quantiles(values: NDArray[np.float64]) -> list[float]:
    times = from_values(values)
    return [times.quantile(q) or 0.0 for q in QUANTILES]


def _estimates(in_order: NDArray[np.float64]) -> list[Estimate]:
    """Quantiles with intervals. Requests behind one stop are one event: batches show that."""
    pieces = np.array_split(in_order, 2 * independence.BATCHES)
    cut = independence.batches([from_values(piece) for piece in pieces if len(piece)])
    times = from_values(in_order)
    estimates = []
    for q in QUANTILES:
        ratio = 1.0
        if cut is not None:
            ratio = independence.widened(independence.of_cut(cut, q), 0.95)
        estimates.append(quantiles.estimate(times, q, correlation=ratio))
    return estimates
