"""What ideal queues would do: the curves the measured ones are held against.

Arrivals are Poisson at rate λ, n servers each take an exponential time of mean 1/μ, first come
first served, one queue: M/M/n. With n = 1 the sojourn time is exponential with mean 1/(μ − λ), so
its p95 is ln 20 ≈ 3 times that (L5). M/D/1 has a constant service time.

Source: Kleinrock, Queueing Systems I (1975), 3.5; Erlang C and the sojourn distribution of M/M/n in
Gross et al., Fundamentals of Queueing Theory, 4th ed. (2008), 2.3; M/D/1 as in `md1_waiting`.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from sojourn.stats.method import Method
from sojourn.stats.times import Floats

METHOD = Method(
    name="queueing",
    about="sojourn times of the ideal queues M/M/n and M/D/1",
    ids=("L4", "L5", "M20"),
    source="Kleinrock (1975); Gross et al. (2008), 2.3; Franx (2001), Oper. Res. Lett. 29",
)


def erlang_c(servers: int, rho: float) -> float:
    """Probability that an arrival has to wait, at utilisation `rho` of each server.

    >>> erlang_c(1, 0.7)
    0.7
    """
    _refuse_unstable(rho)
    offered = servers * rho
    blocking = 1.0  # Erlang B, by its recursion: no factorials, no overflow
    for n in range(1, servers + 1):
        blocking = offered * blocking / (n + offered * blocking)
    return blocking / (1 - rho * (1 - blocking))


def mmn_mean(servers: int, rho: float, service: float) -> float:
    """Mean sojourn time, in the unit of the mean service time."""
    return service + erlang_c(servers, rho) * service / (servers * (1 - rho))


def mmn_over(servers: int, rho: float, service: float, time: float) -> float:
    """Probability that a sojourn exceeds `time`."""
    wait = erlang_c(servers, rho)
    mu = 1 / service
    drain = servers * mu * (1 - rho)  # rate at which the wait decays
    alone = math.exp(-mu * time)
    if math.isclose(drain, mu, rel_tol=1e-9):
        return alone * (1 + wait * mu * time)
    return alone + wait * mu / (mu - drain) * (math.exp(-drain * time) - alone)


def mmn_quantile(q: float, servers: int, rho: float, service: float) -> float:
    """Quantile of the sojourn time.

    >>> [round(mmn_quantile(0.95, 1, rho, 1.0), 2) for rho in (0.5, 0.7, 0.8, 0.9)]
    [5.99, 9.99, 14.98, 29.96]
    """
    _refuse_unstable(rho)
    if servers == 1:
        return math.log(1 / (1 - q)) * service / (1 - rho)
    high = math.log(1 / (1 - q)) * service * (2 + 2 / (servers * (1 - rho)))
    while mmn_over(servers, rho, service, high) > 1 - q:
        high *= 2
    return float(
        scipy.optimize.brentq(lambda t: mmn_over(servers, rho, service, t) - (1 - q), 0.0, high)
    )


def md1_mean(rho: float, service: float) -> float:
    """Mean sojourn time with constant service (Pollaczek and Khinchine)."""
    _refuse_unstable(rho)
    return service * (1 + rho / (2 * (1 - rho)))


def md1_waiting(rho: float, times: Floats) -> Floats:
    """P(wait ≤ t) in M/D/1, t in service times.

    Franx's form: an arrival waits at most x, with (k−1) ≤ x < k, if no more customers were queued
    before k services than could leave. All its terms are positive; Erlang's classical sum
    alternates and loses all digits beyond about 20 service times.

    Source: Franx, "A simple solution for the M/D/c waiting time distribution", Oper. Res. Lett. 29
    (2001) 221-229, with c = 1.
    """
    _refuse_unstable(rho)
    longest = math.floor(float(np.max(times))) + 1
    queued = np.cumsum(_md1_number(rho, longest + 1))[1:]  # P(queue ≤ j) = P(in system ≤ j + 1)
    result = np.empty(len(times))
    for i, time in enumerate(times):
        k = math.floor(time) + 1
        j = np.arange(k)
        result[i] = float(np.dot(queued[k - 1 - j], scipy.stats.poisson.pmf(j, rho * (k - time))))
    return result


def _md1_number(rho: float, longest: int) -> Floats:
    """P(number in system = j) for j ≤ longest, by the embedded chain after departures."""
    arrivals = scipy.stats.poisson.pmf(np.arange(longest + 2), rho)
    p = np.zeros(longest + 1)
    p[0] = 1 - rho
    # p_j = (p_0 + p_1) a_j + Σ_{i=2}^{j+1} p_i a_{j−i+1}, written with tails so that all terms add:
    # rate up from {0..j} equals rate down: p_{j+1} a_0 = p_0 A_j + Σ_{i=1}^{j} p_i A_{j−i+1}, where
    # A_m = P(more than m arrivals in a service).
    more = scipy.stats.poisson.sf(np.arange(longest + 2), rho)
    for j in range(longest):
        up = p[0] * more[j] + float(np.dot(p[1 : j + 1], more[j - np.arange(1, j + 1) + 1]))
        p[j + 1] = up / arrivals[0]
    return p


def md1_quantile(q: float, rho: float, service: float) -> float:
    """Quantile of the sojourn time: the wait's, plus the constant service."""
    _refuse_unstable(rho)
    if q <= 1 - rho:
        return service
    high = math.log(1 / (1 - q)) / (1 - rho) + 1  # the wait of M/M/1 bounds that of M/D/1

    def short(time: float) -> float:
        return float(md1_waiting(rho, np.array([time]))[0]) - q

    return service * (1 + float(scipy.optimize.brentq(short, 0.0, high, xtol=1e-10)))


def _refuse_unstable(rho: float) -> None:
    if not 0 < rho < 1:
        raise ValueError(f"utilisation {rho:g} is not in (0, 1): the queue has no steady state")
