"""By theory: how dependent the sojourn times of an ideal queue are (n / n_eff).

In a busy queue neighbours in line share their fate: at ρ = 0.9 hundreds of requests say as much
about the tail as one. For M/M/1 and M/D/1 the sojourn time is a Markov chain from one request to
the next, T' = max(T − A, 0) + S. So for any function f of T, such as "above the 99th percentile",
the ratio is (2⟨f̄, g⟩ − ⟨f̄, f̄⟩) / ⟨f̄, f̄⟩, where f̄ is f less its mean and g solves Poisson's
equation g − Pg = f̄. The chain is put on a grid and the equation is solved as written.

It is the cross-check of the measured batches, which are few, and noisy at high load. For M/M/n the
chain of M/M/1 at the same ρ is taken: the waits behave alike in heavy traffic, and the n services
that run side by side make sojourn times less dependent, so the ratio errs on the safe side.

Source: Asmussen and Glynn, Stochastic Simulation (2007), IV.1 and IV.3; Whitt, "Planning queueing
simulations", Management Science 35 (1989), for the checks in the test.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from sojourn.stats.times import Floats

_Factors = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]

CELLS = 500
TAIL = 1e-7  # share of the distribution beyond the grid


def ratio(system: str, rho: float, over: float | None) -> float:
    """Ratio n / n_eff of sojourn times, at least 1.

    Args:
        system: "M/M/1", "M/D/1" or "M/M/n".
        rho: utilisation in (0, 1).
        over: f is "sojourn exceeds this", in service times; None: f is the time itself.
    """
    middle, stationary, factors = _chain("M/D/1" if system == "M/D/1" else "M/M/1", rho)
    f = middle if over is None else (middle > over).astype(float)
    centred = f - float(stationary @ f)
    variance = float(stationary @ centred**2)
    if variance <= 0:
        return 1.0
    g = scipy.linalg.lu_solve(factors, centred)
    return max(1.0, 2 * float(stationary @ (centred * g)) / variance - 1)


@lru_cache(maxsize=16)
def _chain(system: str, rho: float) -> tuple[Floats, Floats, _Factors]:
    """Grid (in service times), stationary law π, and factors of I − P + 1u for some law u.

    Of that matrix A, one factoring serves for both: π solves πA = u, and g of Ag = f̄ solves
    Poisson's equation, for π(Ag) = ug = 0.
    """
    decay = 1 - rho if system == "M/M/1" else 2 * (1 - rho)
    longest = 1 + math.log(1 / TAIL) / decay
    per_service = max(4, math.ceil(CELLS / longest))  # cells per service time: whole, for M/D/1
    cells = math.ceil(longest * per_service)
    step = 1 / per_service
    middle: Floats = np.asarray((np.arange(cells) + 0.5) * step, float)
    kernel = _waits(rho, cells, step) @ _services(system, cells, step, per_service)
    kernel /= kernel.sum(axis=1, keepdims=True)
    law = np.full(cells, 1 / cells)
    factors = scipy.linalg.lu_factor(np.eye(cells) - kernel + law[None, :])
    return middle, np.asarray(scipy.linalg.lu_solve(factors, law, trans=1), float), factors


def _waits(rho: float, cells: int, step: float) -> Floats:
    """From a sojourn in cell i to the next wait: cell j, or the atom at 0 (first column)."""
    gap = np.arange(cells)[:, None] - np.arange(cells)[None, :]
    # Sojourn uniform over cell i, wait = sojourn − gap: the share that lands in cell j.
    inner = np.exp(-rho * step * np.maximum(gap, 0))
    factor = (math.cosh(rho * step) - 1) * 2 / (rho * step)
    same = 1 - (1 - math.exp(-rho * step)) / (rho * step)
    cell = np.where(gap > 0, inner * factor, np.where(gap == 0, same, 0.0))
    atom = np.maximum(0.0, 1 - cell.sum(axis=1))
    return np.concatenate([atom[:, None], cell], axis=1)


def _services(system: str, cells: int, step: float, per_service: int) -> Floats:
    """From a wait (atom, or cell j) to the sojourn's cell; what lands beyond goes to the last."""
    result = np.zeros((cells + 1, cells))
    if system == "M/D/1":
        rows = np.minimum(np.arange(cells) + per_service, cells - 1)
        result[0, min(per_service, cells - 1)] = 1
        result[np.arange(1, cells + 1), rows] = 1
        return result
    edges = np.arange(cells + 1) * step
    result[0] = -np.diff(np.exp(-edges))
    gap = np.arange(cells)[None, :] - np.arange(cells)[:, None]
    factor = (math.cosh(step) - 1) * 2 / step
    same = 1 - (1 - math.exp(-step)) / step
    ahead = np.exp(-step * np.maximum(gap, 0)) * factor
    result[1:] = np.where(gap > 0, ahead, np.where(gap == 0, same, 0.0))
    result[:, -1] += np.maximum(0.0, 1 - result.sum(axis=1))
    return result
