"""Does a load meet its QoS target? A test, not a comparison of two numbers (M12).

The target "quantile q within the bound" says: at most a share 1 − q of the requests takes longer.
Of n independent requests k took longer, or never completed. An exact binomial test then has three
answers: the share is below 1 − q (pass), above (fail), or the sample cannot tell (undecided: run
longer). Requests that queue together are not independent; n and k are divided by the outcome's
`correlation` first (M9), which is why the binomial is needed at real n and k: as a Beta integral.

Source: MLPerf Inference, early stopping for the server scenario; Clopper and Pearson (1934).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

from sojourn.plan.points import Outcome, Verdict


class Decision(StrEnum):
    """What a probe says about its load."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    UNDECIDED = "undecided"
    UNKNOWN = "unknown"  # a self-check failed: decides nothing


def decide(n: float, k: float, q: float, *, confidence: float) -> Decision:
    """Compare the share of `k` misses among `n` requests with the 1 − q that is allowed.

    Args:
        n: independent requests; need not be whole.
        k: of those, how many missed the bound; at most n.
        q: quantile of the QoS target.
        confidence: of each of the two one-sided tests.

    >>> decide(459, 0, 0.99, confidence=0.99), decide(458, 0, 0.99, confidence=0.99)
    (<Decision.PASS: 'pass'>, <Decision.UNDECIDED: 'undecided'>)
    """
    if at_most(n, k, 1 - q) <= 1 - confidence:
        return Decision.PASS
    if at_least(n, k, 1 - q) <= 1 - confidence:
        return Decision.FAIL
    return Decision.UNDECIDED


def at_most(n: float, k: float, p: float) -> float:
    """P(X ≤ k) for X ~ Binomial(n, p), continued to real n and k."""
    if k >= n:
        return 1.0
    return _beta(n - k, k + 1, 1 - p)


def at_least(n: float, k: float, p: float) -> float:
    """P(X ≥ k) for X ~ Binomial(n, p), continued to real n and k."""
    if k <= 0:
        return 1.0
    return _beta(k, n - k + 1, p) if k < n else float(p**n)


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function."""
    from scipy.special import betainc  # noqa: PLC0415  # 0.3 s to load

    return float(betainc(a, b, x))


def smallest_sample(k: int, q: float, *, confidence: float) -> int:
    """Fewest requests with which `k` misses still pass.

    >>> [smallest_sample(k, 0.99, confidence=0.99) for k in (0, 1, 10)]
    [459, 662, 2010]
    """
    low, high = k, k + 1
    while at_most(high, k, 1 - q) > 1 - confidence:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if at_most(middle, k, 1 - q) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


KEEPING_UP = 0.99  # a server that completes less than this share of what is offered is overrun


def drops_nothing(outcomes: Sequence[Outcome]) -> Decision:
    """Decide whether a load is answered in full (C5: no dropped requests).

    A run fails if a request was lost, or if requests were completed more slowly than offered by
    more than four standard deviations of a Poisson count, at least 1 %.
    """
    counted = [o for o in outcomes if o.verdict is not Verdict.UNKNOWN]
    if not counted:
        return Decision.UNKNOWN
    return Decision.PASS if all(map(_answered, counted)) else Decision.FAIL


def _answered(outcome: Outcome) -> bool:
    slack = max(1 - KEEPING_UP, 4 / math.sqrt(max(outcome.requests, 1)))
    return outcome.lost == 0 and outcome.achieved_rps >= outcome.offered_rps * (1 - slack)
