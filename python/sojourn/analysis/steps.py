"""Differences between levels, from blocks that may lack some: what a trend is judged by.

A block holds the logarithm of a number at each level. Where every block has every level, a
difference is the mean over blocks of the difference within each, by Student's t: each pair of
levels has a spread of its own, and nothing else is assumed.

Where a run was not believed its cell is missing. Then the additive model y = block + level + error
is fitted by least squares to the cells that there are, so that a block which lacks one level still
tells of the others. The error's variance is pooled over all cells; of a pair of levels that scatter
more than the rest it is that of their own residuals. A level must be seen in two blocks, and blocks
must share levels, else nothing can be said.

Source: Montgomery, Design and Analysis of Experiments, 8th ed. (2013), 4.1 (a missing value) and
4.4 (incomplete blocks).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Logs = NDArray[np.float64]
BLOCKS_MIN = 2  # in which a level is seen


@dataclass(frozen=True, slots=True)
class Step:
    """The difference of two levels, as a logarithm.

    Attributes:
        mean: of the higher level less the lower one.
        error: its standard error.
        freedom: degrees of freedom of that.
    """

    mean: float
    error: float
    freedom: int

    def half(self, coverage: float, at_once: int) -> float:
        """Half the interval, if so many hold at once (Bonferroni)."""
        level = 1 - (1 - coverage) / at_once / 2
        return float(stats.t.ppf(level, self.freedom)) * self.error

    @property
    def chance(self) -> float:
        """The probability of a mean so far from 0 by chance, by Student's t."""
        if not self.error:
            return 1.0 if not self.mean else 0.0
        return float(2 * stats.t.sf(abs(self.mean) / self.error, self.freedom))


class Steps:
    """All differences of one table of blocks × levels."""

    def __init__(self, logs: Logs) -> None:
        """Fit; see `fitted` for what is refused.

        Args:
            logs: blocks × levels; nan where a cell is missing.
        """
        self.logs = logs
        self.levels = logs.shape[1]
        self._additive = _Additive(logs) if np.isnan(logs).any() else None

    def between(self, lower: int, higher: int) -> Step:
        """From one level to another."""
        if self._additive is not None:
            return self._additive.between(lower, higher)
        each = self.logs[:, higher] - self.logs[:, lower]
        error = float(each.std(ddof=1)) / math.sqrt(len(each))
        return Step(mean=float(each.mean()), error=error, freedom=len(each) - 1)


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
    if seen.all():
        return Steps(logs)
    told = logs[seen.sum(axis=1) > 1]  # a cell alone in its block says nothing of levels
    if (np.isnan(told).sum(axis=0) > told.shape[0] - BLOCKS_MIN).any():
        return None
    design = _design(told)
    rank = int(np.linalg.matrix_rank(design))
    is_linked = rank == design.shape[1]
    return Steps(told) if is_linked and design.shape[0] > rank else None


def _design(logs: Logs) -> Logs:
    """Cells × (blocks, levels but the first)."""
    at_block, at_level = np.nonzero(~np.isnan(logs))
    blocks = at_block[:, None] == np.arange(logs.shape[0])
    levels = at_level[:, None] == np.arange(1, logs.shape[1])
    return np.hstack([blocks, levels]).astype(float)


class _Additive:
    """y = block + level + error, by least squares."""

    def __init__(self, logs: Logs) -> None:
        design = _design(logs)
        seen = ~np.isnan(logs)
        self._at_level = np.nonzero(seen)[1]
        self._inverse = np.linalg.inv(design.T @ design)
        found = self._inverse @ design.T @ logs[seen]
        self._squares = (logs[seen] - design @ found) ** 2
        self._freedom = design.shape[0] - design.shape[1]
        self._blocks = logs.shape[0]
        self._found = found

    def between(self, lower: int, higher: int) -> Step:
        weights = np.zeros(len(self._found))
        for level, sign in ((lower, -1.0), (higher, 1.0)):
            if level:
                weights[self._blocks + level - 1] += sign
        of_both = np.isin(self._at_level, (lower, higher))
        mean_square = max(float(self._squares.mean()), float(self._squares[of_both].mean()))
        variance = mean_square * len(self._squares) / self._freedom
        return Step(
            mean=float(weights @ self._found),
            error=math.sqrt(variance * float(weights @ self._inverse @ weights)),
            freedom=self._freedom,
        )
