"""How many clients a rate needs, so that each sends on time. Pure.

A client takes some CPU time for each request, sending and receiving together. Requests that are due
while it is at work wait for it, as in a queue with Poisson arrivals and a fixed service time. It is
timely if at most 2.5 % of them wait for longer than 50 us (M3), and it may use 80 % of a CPU. The
highest rate within both is what one thread carries.

The tail of the wait is Erlang's, exactly, where the limit is a few service times:

    P(W ≤ x) = (1 - ρ) Σ (ρ(k - x/c))^k / k! · exp(ρ(x/c - k)),  k = 0 … ⌊x/c⌋

Its terms alternate and grow with x/c. Beyond `EXACT_MAX` Kingman's bound takes its place,
P(W > x) ≤ exp(-θx) where λ(exp(θc) - 1) = θ: the rate is on the safe side. Of a request that takes
longer than the limit that bound would be useless, because it allows next to no load.

Source: Erlang, The theory of probabilities and telephone conversations (1909); Kingman,
Inequalities in the theory of queues (1970); METHOD M3.
"""

from __future__ import annotations

import math

TIMELY_NS = 50_000.0
LATE_SHARE_MAX = 0.025
CPU_SHARE_MAX = 0.8
EXACT_MAX = 10.0  # service times; from here on 80 % of a CPU is the lower limit by either formula
STEPS = 60  # of bisection: below the precision of a float


def rate_max(cost_ns: float, timely_ns: float = TIMELY_NS) -> float:
    """Highest rate that one thread carries on time, requests/s.

    Args:
        cost_ns: CPU time of a request, ns.
        timely_ns: how late a request may be.

    >>> [round(rate_max(cost_ns)) for cost_ns in (5_000, 50_000, 1_000_000)]
    [160000, 4169, 26]
    """
    low, high = 0.0, CPU_SHARE_MAX
    if late_share(high, cost_ns, timely_ns) <= LATE_SHARE_MAX:
        return high / cost_ns * 1e9
    for _ in range(STEPS):
        middle = (low + high) / 2
        if late_share(middle, cost_ns, timely_ns) <= LATE_SHARE_MAX:
            low = middle
        else:
            high = middle
    return low / cost_ns * 1e9


def late_share(busy: float, cost_ns: float, timely_ns: float) -> float:
    """Share of requests that wait for longer, or a bound on it, at a utilisation below 1."""
    if busy <= 0:
        return 0.0
    limit = timely_ns / cost_ns
    return _erlang(busy, limit) if limit <= EXACT_MAX else _kingman(busy, limit)


def _erlang(busy: float, limit: float) -> float:
    """P(W > x) of a queue with Poisson arrivals and one fixed service time; x in service times."""
    terms = (
        (busy * (k - limit)) ** k / math.factorial(k) * math.exp(busy * (limit - k))
        for k in range(math.floor(limit) + 1)
    )
    return 1 - (1 - busy) * math.fsum(terms)


def _kingman(busy: float, limit: float) -> float:
    low, high = 0.0, 1.0  # of θ·cost, the root beside 0; the left side grows faster in the end
    while busy * math.expm1(high) < high:
        high *= 2
    low = -math.log(busy)  # where its slope is that of the right side: the root lies beyond
    for _ in range(STEPS):
        middle = (low + high) / 2
        if busy * math.expm1(middle) < middle:
            low = middle
        else:
            high = middle
    return math.exp(-low * limit)


def clients(rate_rps: float, each_rps: float) -> int:
    """How many clients carry a rate of which each carries so much.

    >>> clients(100_000, 24_000)
    5
    """
    return max(1, math.ceil(rate_rps / each_rps))
