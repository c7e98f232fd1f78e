"""What a neighbour keeps of its pace, by the CPU time that a service takes.

Other services say it: beside each of them, at each load, it is known how much CPU time the service
used and what pace the neighbour had left. More CPU time for a service never leaves more to a
neighbour, so the line through these points falls (isotonic regression). That line goes through each
of a few points that fall by themselves, so it does not show their scatter. The interval has their
scatter around a straight line, in which the curve of the true one is included. It is that of one
more point there, so it widens away from the CPU time that the others used.

Source: Montgomery, Design and Analysis of Experiments, 8th ed. (2013), 10.6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import numpy as np
import scipy
from numpy.typing import NDArray

from sojourn.foresight.doses import NONE
from sojourn.foresight.predicted import COVERAGE, Predicted
from sojourn.foresight.victims import Victim
from sojourn.half_width import student

POINTS_MIN = 4
Shares = NDArray[np.float64]


def at(service: Victim, rulers: Sequence[tuple[Victim, str]], rps: float) -> Predicted | None:
    """The share of its pace alone at a load of the service; None if too few runs tell it."""
    points = [
        (run.cpu, run.progress)
        for one, level in rulers
        for run in one.levels[level]
        if run.cpu is not None and run.progress is not None
    ]
    costs = [run.cpu_ns for run in service.levels[NONE] if run.cpu_ns is not None]
    if len(points) < POINTS_MIN or not costs:
        return None
    points.sort()
    used, share = np.array(points).T
    falling = scipy.optimize.isotonic_regression(share, increasing=False).x
    own = median(costs) * rps / 1e9
    value = float(np.interp(own, used, falling))
    width = _half_width(used, share, own)
    return Predicted(value=value, lo=max(0.0, value - width), hi=min(1.0, value + width))


def _half_width(used: Shares, share: Shares, own: float) -> float:
    """Half the interval of one more point, from the scatter around the least-squares line.

    Infinite where all used the same CPU time and the point does not: no line is known.

    Args:
        used: CPUs' worth, ascending.
        share: of the pace alone, at each.
        own: CPUs' worth of the point.
    """
    count = len(share)
    if used[0] == used[-1]:
        if not math.isclose(own, used[0]):
            return math.inf
        freedom, variance = count - 1, float(np.var(share, ddof=1))
        leverage = 0.0
    else:
        design = np.stack([np.ones_like(used), used], axis=1)
        line = design @ np.linalg.lstsq(design, share, rcond=None)[0]
        freedom = count - 2
        variance = float(np.sum((share - line) ** 2)) / freedom
        middle = float(used.mean())
        leverage = (own - middle) ** 2 / float(np.sum((used - middle) ** 2))
    return student(freedom, COVERAGE) * math.sqrt(variance * (1 + 1 / count + leverage))
