"""Where a service's QoS ends on a grid of two loads: a posterior over staircases (L19, C22).

A service that meets its target beside a neighbour meets it with less load of its own, and beside
less of the neighbour's. So the cells in which it does form a staircase: for each load of its own
the number of the neighbour's loads beside which it holds, which never rises. Before anything is
measured each staircase is as likely as any other; what runs tell multiplies in, and a sum forwards
and one backwards give the probability of each cell exactly, in time of the number of cells times
the number of levels. One run so reports many cells, which is why the grid need not be filled.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sojourn import late
from sojourn.plan.curve import Floats

if TYPE_CHECKING:
    import numpy as np
else:
    np = late.module("numpy")

#: How often a run says the opposite of what its cell is, however many requests it has: starts of a
#: service differ, and the machine with the hour. So no single run decides by more than 19 to 1.
MISLED = 0.05


def chances(weights: Floats) -> Floats:
    """The probability that each cell meets the target, from what runs report of each.

    Args:
        weights: (own loads, neighbour's loads), rising; the logarithm of how much likelier the
            runs in a cell are if it meets the target than if it does not; 0 where none was.

    Returns:
        The same shape, in [0, 1]; it never rises along either axis.
    """
    own, other = weights.shape
    # What a height (number of cells that hold) of a row weighs: the sum over these cells.
    of_height = np.concatenate([np.zeros((own, 1)), np.cumsum(weights, axis=1)], axis=1)
    forward, backward = np.empty_like(of_height), np.zeros_like(of_height)
    forward[0] = of_height[0]
    for row in range(1, own):  # a row is at most as high as the one before
        forward[row] = of_height[row] + _sums(forward[row - 1][::-1])[::-1]
    for row in range(own - 2, -1, -1):
        backward[row] = _sums(of_height[row + 1] + backward[row + 1])
    joint = forward + backward
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    above = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1]  # height of at least 0, 1, … other
    values: Floats = np.clip(above[:, 1 : other + 1], 0.0, 1.0)
    return values


def _sums(logs: Floats) -> Floats:
    """Logarithms of the running sums."""
    return np.logaddexp.accumulate(logs)


def weight(requests: float, over: float, q: float) -> float:
    """What one run tells: log of how much likelier it is in a cell that meets the target.

    Both sides start from Jeffreys' prior for the share of misses, cut at 1 − q: a run of
    `requests` independent requests is likelier on the side where its own posterior has gained. The
    outcome is mixed with its opposite by `MISLED`.

    Args:
        requests: that are independent, so n / n_eff of them count once.
        over: of those, how many missed the bound.
        q: of the target; it is met if at most 1 − q of all miss.

    Returns:
        Between −log 19 and log 19.
    """
    from scipy.special import betainc, betaincc  # noqa: PLC0415  # 0.3 s to load

    most = 1 - q
    a, b = 0.5 + over, 0.5 + max(0.0, requests - over)
    prior = math.log(betainc(0.5, 0.5, most) / betaincc(0.5, 0.5, most))
    meets, fails = float(betainc(a, b, most)), float(betaincc(a, b, most))
    if meets <= 0 or fails <= 0:
        return math.log((1 - MISLED) / MISLED) * (1 if meets > fails else -1)
    likelier = math.exp(min(700.0, max(-700.0, math.log(meets / fails) - prior)))
    return math.log(((1 - MISLED) * likelier + MISLED) / (MISLED * likelier + 1 - MISLED))


def entropy(chances: Floats) -> Floats:
    """What is not known of each cell, bits: 0 where it is certain, 1 where it is even.

    >>> entropy(np.array([0.0, 0.5, 1.0])).tolist()
    [0.0, 1.0, 0.0]
    """
    inside = np.clip(chances, 1e-300, 1 - 1e-16)
    bits = -inside * np.log2(inside) - (1 - inside) * np.log2(1 - inside)
    return np.where((chances <= 0) | (chances >= 1), 0.0, bits)
