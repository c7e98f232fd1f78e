"""How much load one start carries, where `posterior` is about the median start.

Production runs one start, and starts differ. The model knows by how much: it has a spread of
capacities between starts, and each run is of one start. So each state of the curve says with which
probability a further start lies within the target at a load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import late
from sojourn.plan.curve import AT_TARGET, LEVEL, PAD, Curve, Floats
from sojourn.plan.evidence import Trial
from sojourn.plan.posterior import Posterior, of_habits, read

if TYPE_CHECKING:
    import numpy as np
else:
    np = late.module("numpy")


def of_one(trials: tuple[Trial, ...], *, peak_rps: float, bound_s: float, q: float) -> Posterior:
    """With which probability a further start meets the target at each load.

    Args:
        trials: of one service, each of a start.
        peak_rps: its closed-loop peak; the scale of the grid of loads.
        bound_s: of the QoS target, s.
        q: its quantile.
    """
    return read(trials, peak_rps, bound_s, q, _meets)


def _meets(prior: Curve, states: Floats, evidences: Floats) -> Floats:
    """Probability at each load, (loads,), by how starts lie around the median one.

    Shapes: states (loads, slopes, habits, levels), evidences (habits,).
    """
    below = np.cumsum(prior.spreads, axis=3)  # of a start's level, (slopes, habits, levels, padded)
    below = np.concatenate([np.zeros((*below.shape[:3], 1)), below], axis=3)
    edges = (np.arange(below.shape[3], dtype=float) - PAD - AT_TARGET - 0.5) * LEVEL
    weighed = states * of_habits(prior, evidences)[None, None, :, None]
    return np.array(
        [
            float((now * _at(-floor, edges, below)).sum())
            for floor, now in zip(prior.floor, weighed, strict=True)
        ]
    )


def _at(logit: float, edges: Floats, below: Floats) -> Floats:
    """Probability that a level is below this logit, linear between edges."""
    place = float(np.clip((logit - edges[0]) / LEVEL, 0.0, len(edges) - 1.0))
    first = min(int(place), len(edges) - 2)
    part = place - first
    return np.asarray((1 - part) * below[..., first] + part * below[..., first + 1], np.float64)
