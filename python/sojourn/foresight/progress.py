"""What a neighbour keeps of its pace, by the CPU time that a service takes.

Other services say it: beside each of them, at each load, it is known how much CPU time the service
used and what pace the neighbour had left. More CPU time for a service never leaves more to a
neighbour, so the line through these points falls (isotonic regression). That line goes through each
of a few points that fall by themselves, so it does not show their scatter. The interval has their
scatter around a straight line, in which the curve of the true one is included.
"""

from __future__ import annotations

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
    value = float(np.interp(median(costs) * rps / 1e9, used, falling))
    width = _half_width(used, share)
    return Predicted(value=value, lo=max(0.0, value - width), hi=min(1.0, value + width))


def _half_width(used: Shares, share: Shares) -> float:
    """Half the interval of one more point, from the scatter around the least-squares line."""
    design = np.stack([np.ones_like(used), used], axis=1)
    line = design @ np.linalg.lstsq(design, share, rcond=None)[0]
    freedom = len(share) - 2
    scatter = float(np.sqrt(np.sum((share - line) ** 2) / freedom * (1 + 1 / len(share))))
    return student(freedom, COVERAGE) * scatter
