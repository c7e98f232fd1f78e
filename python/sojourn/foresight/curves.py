"""The tail against load, and the load at which it meets a bound.

Measured quantiles scatter, and a tail never falls with load. So the logarithms are first made
monotone (isotonic regression); between loads they are on a straight line. From the highest load on,
the line leads to `TOP_NS` at the closed-loop peak: no more can be served, so a queue would grow.
That part is assumed. A border on it is "beyond" what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from sojourn.foresight.victims import Run

TOP_NS = 1e9  # a tail of a second: the queue grows for as long as the run lasts
BELOW = "below"  # the lowest load that was measured is over the bound
TOP_LOG = math.log(TOP_NS) - 1e-6  # a tail as high as this has reached it
FIRST = 0.5  # below the lowest load the tail is known by no run: half of that load is the least


@dataclass(frozen=True, slots=True)
class Curve:
    """Loads, requests/s, ascending; and the tail's logarithm there, never falling.

    Attributes:
        most_rps: the highest load that was measured.
    """

    rps: NDArray[np.float64]
    logs: NDArray[np.float64]
    most_rps: float

    def border(self, bound_ns: float) -> tuple[float, str]:
        """Load up to which the tail is within a bound; "" or how it is censored.

        "below": the tail is over it at the lowest load already. "above": it is nowhere. "beyond":
        it is within it at the highest load, and the border is on the assumed line to the peak.
        Tails end at `TOP_NS`, so a longer bound ends at the load at which the queue grows.
        """
        log = min(math.log(bound_ns), TOP_LOG)
        if self.logs[0] > log:
            return float(self.rps[0] * FIRST), BELOW
        if self.logs[-1] <= log:
            return float(self.rps[-1]), "above"
        at = int(np.searchsorted(self.logs, log, side="right"))
        lo, hi = self.logs[at - 1], self.logs[at]
        share = (log - lo) / (hi - lo)
        border = float(self.rps[at - 1] + share * (self.rps[at] - self.rps[at - 1]))
        return border, "beyond" if border > self.most_rps else ""

    def tail_ns(self, rps: float) -> float:
        """The tail at a load, ns; that of the lowest measured load below it."""
        return float(np.exp(np.interp(rps, self.rps, self.logs)))


def of(runs: Sequence[Run], q: float, peak_rps: float) -> Curve:
    """The curve of a quantile through runs, at least one."""
    loads = np.array([run.rps for run in runs])
    logs = np.log(np.minimum([run.tails[q] for run in runs], TOP_NS))
    most_rps = float(loads.max())
    if loads[-1] < peak_rps:
        loads, logs = np.append(loads, peak_rps), np.append(logs, math.log(TOP_NS))
    order = np.argsort(loads, kind="stable")
    rising = scipy.optimize.isotonic_regression(logs[order]).x
    return Curve(loads[order], np.asarray(rising, dtype=np.float64), most_rps)
