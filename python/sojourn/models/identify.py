"""Which fitted parameters the data pin down: a profile of the misfit.

One parameter is held beside its best value and the others are fitted again. As long as the misfit
stays as small, the data cannot tell the two values apart; what the others do meanwhile does not
matter. The walk goes outward in steps and ends at the first value that fits worse.

Source: Raue et al., Bioinformatics 25 (2009), "Structural and practical identifiability analysis
of partially observed dynamical models by exploiting the profile likelihood"; here with a sum of
absolute errors for the likelihood, and a stated difference for the threshold.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

FACTORS = (1.1, 1.2, 1.35, 1.5, 2.0, 3.0, 5.0, 10.0)
IDENTIFIED = 2.0  # a range whose ends differ by more than this factor says little
EQUAL = 0.01  # mean relative error that more is no worse

Misfit = Callable[[NDArray[np.float64]], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Values of one parameter that fit equally.

    Attributes:
        name: of the parameter.
        low, high: ends; 0 and infinity where no tried value fitted worse.
    """

    name: str
    low: float
    high: float

    @property
    def is_identified(self) -> bool:
        """Whether the ends lie within a factor of two."""
        return self.low > 0 and self.high / self.low <= IDENTIFIED

    def __str__(self) -> str:
        """The range as people read it."""
        if self.low == 0 and math.isinf(self.high):
            return f"{self.name}: any value fits equally"
        if math.isinf(self.high):
            return f"{self.name}: {self.low:.3g} or more fits equally"
        return f"{self.name}: {self.low:.3g} to {self.high:.3g} fits equally"


def profile(
    misfit: Misfit, best: NDArray[np.float64], names: Sequence[str], *, slack: float, steps: int
) -> tuple[Range, ...]:
    """Walk away from the best value of each parameter until the misfit grows by `slack`.

    Args:
        misfit: total misfit at logarithms of the parameters, shape (n,).
        best: logarithms of the best ones.
        names: of the parameters, in their order.
        slack: growth of the total misfit that still counts as equal.
        steps: evaluations of one fit of the others.

    >>> ranges = profile(lambda x: abs(x[0] + x[1]), np.zeros(2), ("a", "b"), slack=0.1, steps=60)
    >>> [(r.low, r.high) for r in ranges]  # only the product is known
    [(0.0, inf), (0.0, inf)]
    """
    budget = _Budget(misfit(best) + slack, steps)
    results = []
    for at, name in enumerate(names):
        ends = [_walk(misfit, best, (at, sign), budget) for sign in (-1, 1)]
        results.append(Range(name=name, low=ends[0], high=ends[1]))
    return tuple(results)


@dataclass(frozen=True, slots=True)
class _Budget:
    """Largest misfit that is no worse, and evaluations of one fit."""

    most: float
    steps: int


def _walk(
    misfit: Misfit, best: NDArray[np.float64], way: tuple[int, int], budget: _Budget
) -> float:
    """Last value that fits, of parameter `way[0]` in direction `way[1]`; 0 or inf if all do."""
    at, sign = way
    last = float(np.exp(best[at]))
    others = np.delete(best, at)
    for factor in FACTORS:
        held = best[at] + sign * math.log(factor)
        others, value = _refit(misfit, others, (at, held), budget)
        if value > budget.most:
            return last
        last = float(np.exp(held))
    return 0.0 if sign < 0 else math.inf


def _refit(
    misfit: Misfit, others: NDArray[np.float64], held: tuple[int, float], budget: _Budget
) -> tuple[NDArray[np.float64], float]:
    """Fit the other parameters while this one is held; it ends as soon as it is good enough."""
    best = others, misfit(np.insert(others, *held))
    if best[1] <= budget.most or not others.size:
        return best

    def rest(values: NDArray[np.float64]) -> float:
        nonlocal best
        value = misfit(np.insert(values, *held))
        if value < best[1]:
            best = values.copy(), value
        if value <= budget.most:
            raise StopIteration
        return value

    corners = np.vstack([others, *(others + 0.3 * row for row in np.eye(others.size))])
    with contextlib.suppress(StopIteration):
        scipy.optimize.minimize(
            rest,
            others,
            method="Nelder-Mead",
            options={
                "maxfev": budget.steps,
                "xatol": 0.01,
                "fatol": 1e-3,
                "initial_simplex": corners,
            },
        )
    return best
