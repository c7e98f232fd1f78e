"""Differences between levels, from blocks that may lack some: what a trend is judged by.

A block holds the logarithm of a number at each level; where a run was not believed its cell is
missing. The additive model y = block + level + error is fitted by least squares to the cells that
there are, so that a block which lacks one level still reports the others. The error's variance is
pooled over all cells; of a pair of levels that scatter more than the rest it is that of their own
residuals, with their share of the degrees of freedom, for numbers near saturation scatter most. A
level must be seen in two blocks, and blocks must share levels, else nothing can be reported.

Where no cell is missing there is a second way, which assumes nothing: Student's t of the
differences within blocks. It finds a step between quiet levels beside a wild one; with three blocks
it has two degrees of freedom, and alone it missed more threefold steps (44 of 100 against 24).

Times are stored in three digits: blocks that agree to the last of these still scatter by it.

Simulated, three blocks of four levels that do not differ: a step is named in at most 5 of 100
studies, with equal scatter or five times as much at one level (`steps_test`).

Source: Montgomery, Design and Analysis of Experiments, 8th ed. (2013), 4.1 (a missing value) and
4.4 (incomplete blocks).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from sojourn.half_width import student
from sojourn.stats.symmetry_bets import SCALE_LEAST, VARIANCE_LEAST

Logs = NDArray[np.float64]
BLOCKS_MIN = 2  # in which a level is seen


@dataclass(frozen=True, slots=True)
class Error:
    """A standard error, and the degrees of freedom that it has."""

    size: float
    freedom: float

    def half(self, coverage: float) -> float:
        """Half of Student's interval of this coverage."""
        return student(self.freedom, coverage) * self.size

    def chance(self, mean: float) -> float:
        """The probability of a mean so far from 0 by chance."""
        if not self.size:
            return 1.0 if not mean else 0.0
        return float(2 * scipy.special.stdtr(self.freedom, -abs(mean) / self.size))


@dataclass(frozen=True, slots=True)
class Step:
    """The difference of two levels, as a logarithm.

    Attributes:
        mean: of the higher level less the lower one.
        errors: of the mean, each found in another way. The narrowest counts, each at its share of
            the error probability: so all hold at once, and it is no matter which one is taken.
    """

    mean: float
    errors: tuple[Error, ...]

    def half(self, coverage: float, at_once: int) -> float:
        """Half the interval, if so many hold at once (Bonferroni)."""
        level = 1 - (1 - coverage) / at_once / len(self.errors)
        return min(error.half(level) for error in self.errors)

    @property
    def chance(self) -> float:
        """The probability of a mean so far from 0 by chance."""
        return min(1.0, len(self.errors) * min(e.chance(self.mean) for e in self.errors))


class Steps:
    """All differences of one table of blocks × levels, by least squares."""

    def __init__(self, logs: Logs) -> None:
        """Fit; `fitted` refuses what does not tell the differences.

        Args:
            logs: blocks × levels; nan where a cell is missing.
        """
        design, seen = _design(logs), ~np.isnan(logs)
        self.levels = logs.shape[1]
        self._at_level = np.nonzero(seen)[1]
        self._inverse = np.linalg.inv(design.T @ design)
        self._results = self._inverse @ design.T @ logs[seen]
        self._squares = (logs[seen] - design @ self._results) ** 2
        self._freedom = design.shape[0] - design.shape[1]
        self._blocks = logs.shape[0]
        self._whole = logs if seen.all() else None

    def between(self, lower: int, higher: int) -> Step:
        """From one level to another."""
        weights = np.zeros(len(self._results))
        for level, sign in ((lower, -1.0), (higher, 1.0)):
            if level:
                weights[self._blocks + level - 1] += sign
        pooled = self._error(weights, np.isin(self._at_level, (lower, higher)))
        mean = float(weights @ self._results)
        if self._whole is None:
            return Step(mean=mean, errors=(pooled,))
        each = self._whole[:, higher] - self._whole[:, lower]
        spread = max(float(each.std(ddof=1)), SCALE_LEAST)
        own = Error(size=spread / math.sqrt(len(each)), freedom=len(each) - 1)
        return Step(mean=mean, errors=(pooled, own))

    def _error(self, weights: Logs, is_own: NDArray[np.bool_]) -> Error:
        """Of these weights of the model's parts, which are about cells that are their own."""
        own = self._squares[is_own]
        squares = own if own.mean() > self._squares.mean() else self._squares
        variance = float(squares.mean()) * len(self._squares) / self._freedom
        variance = max(variance, VARIANCE_LEAST)
        return Error(
            size=math.sqrt(variance * float(weights @ self._inverse @ weights)),
            freedom=max(1.0, self._freedom * len(squares) / len(self._squares)),
        )


def fitted(logs: Logs) -> Steps | None:
    """The differences, or None where the cells do not tell them.

    >>> whole = np.array([[0.0, 1.0], [0.0, 1.2]])
    >>> round(fitted(whole).between(0, 1).mean, 3)
    1.1
    >>> fitted(np.array([[0.0, 1.0], [0.0, math.nan]])) is None
    True
    """
    seen = ~np.isnan(logs)
    if logs.shape[0] < BLOCKS_MIN or (seen.sum(axis=0) < BLOCKS_MIN).any():
        return None
    report = logs[seen.sum(axis=1) > 1]  # a cell alone in its block says nothing of levels
    if (np.isnan(report).sum(axis=0) > report.shape[0] - BLOCKS_MIN).any():
        return None
    design = _design(report)
    rank = int(np.linalg.matrix_rank(design))
    is_linked = rank == design.shape[1]
    return Steps(report) if is_linked and design.shape[0] > rank else None


def _design(logs: Logs) -> Logs:
    """Cells × (blocks, levels but the first)."""
    at_block, at_level = np.nonzero(~np.isnan(logs))
    blocks = at_block[:, None] == np.arange(logs.shape[0])
    levels = at_level[:, None] == np.arange(1, logs.shape[1])
    return np.hstack([blocks, levels]).astype(float)
