"""How much load one start carries, where `posterior` is about the median start.

Production runs one start, and starts differ. The model knows by how much: it has a spread of
capacities between starts, and each run is of one start. So each state of the curve says with which
probability a further start lies within the target at a load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import late
from sojourn.plan.curve import AT_TARGET, LEVEL, PAD, Curve, Floats

if TYPE_CHECKING:
    import numpy as np
else:
    np = late.module("numpy")


def meets(prior: Curve, states: Floats, habits: Floats) -> Floats:
    """Probability that a further start meets the target at each load, (loads,).

    Args:
        prior: of the curve; says how starts lie around the median one.
        states: of the curve, (loads, slopes, habits, levels).
        habits: how probable each is, (habits,).
    """
    weighed = (states * habits[None, None, :, None]).reshape(len(states), -1)
    below = prior.below.reshape(len(prior.below), -1)
    values = [_at(-floor, below, now) for floor, now in zip(prior.floor, weighed, strict=True)]
    return np.array(values)


def _at(logit: float, below: Floats, now: Floats) -> float:
    """Probability that a start's level is below this logit, linear between edges.

    Args:
        logit: less the target's.
        below: that a start is below each edge, (edges, states).
        now: how probable each state is, (states,).
    """
    first_edge = (-PAD - AT_TARGET - 0.5) * LEVEL
    place = min(max((logit - first_edge) / LEVEL, 0.0), len(below) - 1.0)
    first = min(int(place), len(below) - 2)
    low, high = below[first : first + 2] @ now
    return float(low + (place - first) * (high - low))
